"""`unlisted key` and `unlisted serve`: keys are shown once, and a service starts or says why not."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import unlisted as ul
from unlisted.cli.exits import Verbs
from unlisted.cli.key import key
from unlisted.cli.serve import serve
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.server.auth import KeyRing

app = typer.Typer(cls=Verbs)
app.add_typer(key, name="key")
app.command("serve")(serve)


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    with Ledger(tmp_path / "budget.db") as book:
        book.open("ads-team", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
    return str(tmp_path / "budget.db")


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, list(words))
    return done.exit_code, done.stdout, done.stderr


def test_a_key_is_shown_once_and_works(ledger: str):
    code, shown, said = run("key", "create", "Ana", "--ledger", ledger, "--grant", "searches=ads-team")
    assert code == 0
    assert "not shown again" in said
    with Ledger(ledger) as book:
        caller = KeyRing(book).find(shown.strip())
    assert caller is not None
    assert (caller.name, caller.role, dict(caller.grants)) == ("Ana", "analyst", {"searches": "ads-team"})
    for format_ in ("table", "json"):
        code, listed, _ = run("key", "list", "--ledger", ledger, "--format", format_)
        assert caller.key in listed
        assert shown.strip().partition(f"{caller.key}_")[2] not in listed
    (one,) = json.loads(listed)
    assert (one["name"], one["grants"], one["revoked"]) == ("Ana", {"searches": "ads-team"}, None)


def test_a_revoked_key_is_marked_and_does_not_work(ledger: str):
    shown = run("key", "create", "Ada", "--role", "admin", "--ledger", ledger)[1].strip()
    identity = shown.split("_")[1]
    assert run("key", "revoke", identity, "--ledger", ledger)[0] == 0
    assert "revoked" in run("key", "list", "--ledger", ledger)[1]
    with Ledger(ledger) as book:
        assert KeyRing(book).find(shown) is None


def test_a_grant_is_given_replaced_and_withdrawn(ledger: str):
    with Ledger(ledger) as book:
        book.open("ops-team", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        shown = KeyRing(book).create("Ana")
    identity = shown.split("_")[1]
    for account in ("ads-team", "ops-team"):
        code, said, _ = run("key", "grant", identity, f"searches={account}", "--ledger", ledger)
        assert (code, f"the account {account!r} pays" in said) == (0, True)
        with Ledger(ledger) as book:
            assert KeyRing(book).find(shown).grants == {"searches": account}
    assert run("key", "withdraw", identity, "searches", "--ledger", ledger)[0] == 0
    code, _, message = run("key", "withdraw", identity, "searches", "--ledger", ledger)
    assert (code, "one that the key has a grant for" in message) == (2, True)
    with Ledger(ledger) as book:
        assert KeyRing(book).find(shown).grants == {}
        assert verify(book) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("key", "create", "Ana", "--grant", "searches"), "DATASET=ACCOUNT"),
        (("key", "grant", "0123456789ab", "searches=ads-team"), "the id of a key"),
        (("key", "grant", "0123456789ab", "searches"), "DATASET=ACCOUNT"),
        (("key", "withdraw", "0123456789ab", "searches"), "the id of a key"),
        (("key", "create", "Ana", "--grant", "searches=nobody"), "an account on the data set"),
        (("key", "revoke", "0123456789ab"), "the id of a key"),
    ],
)
def test_what_cannot_be_is_refused(ledger: str, words: tuple[str, ...], said: str):
    code, _, message = run(*words, "--ledger", ledger)
    assert code == 2
    assert said in message


def test_a_service_needs_a_configuration_or_the_demo_and_not_both(tmp_path: Path):
    assert run("serve")[0] == 2
    assert run("serve", "--demo", "--config", str(tmp_path / "unlisted.toml"))[0] == 2
    code, _, message = run("serve", "--config", str(tmp_path / "nowhere.toml"))
    assert (code, "a file that can be read" in message) == (2, True)


def test_an_address_that_is_taken_is_refused():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, _, message = run("serve", "--demo", "--port", str(taken.getsockname()[1]))
    assert code == 2
    assert "an address of this machine that is free" in message


def test_the_demo_answers_with_the_keys_it_shows(tmp_path: Path):
    command = "import typer; from unlisted.cli.serve import serve; typer.run(serve)"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", "-c", command, "--demo", "--port", "0"], stdout=subprocess.PIPE, stderr=log
        )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline().decode().strip() for _ in range(4)]
        url, shown = lines[3].removeprefix("Listening on "), lines[1].split()[-1]
        request = urllib.request.Request(f"{url}/v1/datasets", headers={"Authorization": f"Bearer {shown}"})
        with urllib.request.urlopen(request, timeout=600) as reply:
            assert [one["name"] for one in json.loads(reply.read())] == ["searches"]
    finally:
        process.terminate()
        assert process.wait(600) == 0
        process.stdout.close()
