"""Failures are counted over HTTP too: then only repeats and previews are had until an admin has thawed it."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.server.asgi import Inside
from tests.server.console.test_attacks import Stranger

import unlisted as ul
from unlisted.errors import FrozenError, InvalidArgumentError, LedgerError, UncertainError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.query.remote_table import connect
from unlisted.server.api import problems
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer, read_config
from unlisted.server.startup import open_datasets

BUDGET = ul.Budget(rho=10, delta="1e-5")
PLACE = "/v1/datasets/searches"


def histogram(epsilon: float) -> dict[str, object]:
    """Return a question; another ε is another question."""
    common = {"question": "histogram", "items": ["query"], "delta": 1e-8, "items_per_user": 1}
    return {**common, "epsilon": epsilon}


class Rows:
    """A file whose rows can be read, or not any more, though its schema can."""

    def __init__(self, file: Path) -> None:
        self.file = file
        table = pa.table({"user": [f"user {n}" for n in range(300)], "query": ["tea"] * 300})
        pq.write_table(table, file, compression="none", use_dictionary=False)
        self._whole = file.read_bytes()

    def damage(self) -> None:
        self.file.write_bytes(self._whole[:4] + b"\xff" * 60 + self._whole[64:])

    def mend(self) -> None:
        self.file.write_bytes(self._whole)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "budget.db") as book:
        yield book


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    return Rows(tmp_path / "searches.parquet")


@pytest.fixture
def config(rows: Rows) -> Config:
    said = {"items_per_user": 1, "version": "1", "failures": 4}
    offer = Offer("searches", str(rows.file), "user", ("query",), BUDGET, **said)
    return Config("unused", {"searches": offer}, secure_cookies=False)


@pytest.fixture
def service(config: Config, ledger: Ledger) -> Inside:
    app = make_app(config, ledger)
    ledger.open("ads", dataset="searches", budget=BUDGET, failures=2)
    return Inside(app, KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))


def landed(visitor: Stranger, reply: httpx.Response) -> str:
    """Go where a form sends the browser, and return what the page there says."""
    assert reply.status_code == 303
    while reply.status_code == 303:
        reply = visitor.get(reply.headers["location"].removeprefix("/console"))
    return reply.text


def freeze(service: Inside, rows: Rows, times: int = 2) -> None:
    rows.damage()
    for number in range(times):
        reply = service.post(f"{PLACE}/releases", histogram(0.1 + number / 100))
        assert (reply.status_code, reply.json()["charged"]) == (500, True)
    rows.mend()


def test_a_frozen_account_is_refused_and_still_gets_repeats_and_previews(
    service: Inside, ledger: Ledger, rows: Rows
):
    first = service.post(f"{PLACE}/releases", histogram(1))
    assert first.status_code == 200
    assert service.get(f"{PLACE}/balance").json()["failures"] == {"seen": 0, "allowed": 2, "frozen": False}
    freeze(service, rows)
    before = ledger.history()
    refused = service.post(f"{PLACE}/releases", histogram(0.5))
    assert (refused.status_code, refused.headers["content-type"]) == (403, problems.MEDIA_TYPE)
    told = refused.json()
    assert (told["type"], told["charged"]) == ("urn:unlisted:problem:frozen", False)
    assert "The account 'ads' is frozen" in told["detail"]
    # In another format, so that it is the ledger and not this process's memory that replays it.
    again = service.post(f"{PLACE}/releases", histogram(1), headers={"Accept": "text/csv"})
    assert (again.status_code, again.text.splitlines()[1].partition(",")[0]) == (200, "tea")
    assert service.post(f"{PLACE}/preview", histogram(0.5)).status_code == 200
    balance = service.get(f"{PLACE}/balance").json()
    assert (balance["failures"], balance["dataset_frozen"]) == ({"seen": 2, "allowed": 2, "frozen": True}, False)
    assert ledger.history() == before
    ledger.thaw(account="ads")
    assert service.post(f"{PLACE}/releases", histogram(0.5)).status_code == 200
    assert verify(ledger) == []


def test_how_often_others_failed_is_not_an_analysts_to_see(service: Inside, ledger: Ledger, rows: Rows):
    ledger.open("ops", dataset="searches", budget=BUDGET)
    other = KeyRing(ledger).create("Otto", "analyst", {"searches": "ops"})
    before = service.get(f"{PLACE}/balance", key=other).json()
    freeze(service, rows, 1)
    after = service.get(f"{PLACE}/balance", key=other).json()
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} <= {"dataset_left", "left"}


def test_an_admin_sees_it_thaws_it_and_changes_how_many_may_fail(service: Inside, ledger: Ledger, rows: Rows):
    admin, ana = Stranger(service.app), Stranger(service.app)
    admin.sign_in(KeyRing(ledger).create("Ada", "admin"))
    ana.sign_in(service.key)
    freeze(service, rows)
    for page in ("/budget", "/datasets/searches/ask"):
        assert "frozen" in ana.get(page).text
    assert "questions that may fail" not in ana.get("/budget").text
    assert "2 of 4 questions that may fail" in admin.get("/budget").text
    shown = admin.get("/admin").text
    assert "2 of 2" in shown
    assert "frozen" in shown

    def send(verb: str, **fields: str) -> tuple[bool, str]:
        """Send a form, follow it, and return whether it was done, and what the page says."""
        text = landed(admin, admin.post(f"/admin/{verb}", {"token": admin.token, **fields}))
        return "note good" in text, text

    assert ana.post("/admin/thaw-account", {"token": ana.token, "account": "ads"}).status_code == 403
    assert ledger.account("ads").balance().account.failures.frozen
    done, text = send("thaw-account", account="ads")
    assert (done, "The account ads is thawed. 2 failures were counted" in text) == (True, True)
    assert not ledger.account("ads").balance().account.failures.frozen
    assert not send("thaw-account", account="ads")[0]
    assert send("allow-account", account="ads", failures="3")[0]
    assert not send("allow-account", account="ads", failures="many")[0]
    assert not send("allow-account", account="ads", failures="9")[0]
    assert send("allow-dataset", dataset="searches", failures="8")[0]
    assert not send("allow-dataset", dataset="elsewhere", failures="8")[0]
    assert send("thaw-dataset", dataset="searches")[0]
    failures = ledger.account("ads").balance()
    assert (failures.account.failures.allowed, failures.dataset.failures.allowed) == (3, 8)
    assert (failures.account.failures.seen, failures.dataset.failures.seen) == (0, 0)
    opened = {"account": "new", "dataset": "searches", "loss": "1", "delta": "1e-7", "failures": "5"}
    assert send("open-account", **opened)[0]
    assert ledger.account("new").balance().account.failures.allowed == 5
    assert [entry.kind for entry in ledger.history()].count("thawed") == 2


def test_the_console_refuses_a_frozen_question_with_its_words(service: Inside, rows: Rows):
    ana = Stranger(service.app)
    ana.sign_in(service.key)
    draft = {"item": "query", "question": "histogram", "epsilon": "0.7", "delta": "1e-8", "items_per_user": "1"}
    draft |= {"count": "users", "noise": "auto", "counting": "auto", "token": ana.token}
    freeze(service, rows)
    page = landed(ana, ana.post("/datasets/searches/answers", draft))
    assert "is frozen" in page
    # The form comes back as it was filled in.
    assert 'value="0.7"' in page


def test_a_configuration_says_how_many_may_fail(config: Config, ledger: Ledger):
    open_datasets(config, ledger)
    assert ledger.dataset("searches").failures.allowed == 4
    history = ledger.history()
    open_datasets(config, ledger)
    assert ledger.history() == history
    other = replace(config.datasets["searches"], failures=7)
    open_datasets(Config("unused", {"searches": other}), ledger)
    assert ledger.dataset("searches").failures.allowed == 7


def _sharing(folder: Path, said: str) -> Config:
    pq.write_table(pa.table({"user": [1], "query": ["tea"]}), folder / "rows.parquet")
    common = 'source = "rows.parquet"\nuser = "user"\nitems = ["query"]\nbudget = { rho = 1, delta = 1e-6 }\n'
    text = f'ledger = "budget.db"\n[datasets.one]\n{common}failures = 9\n[datasets.two]\n{common}{said}\n'
    (folder / "unlisted.toml").write_text(text)
    return read_config(folder / "unlisted.toml")


def test_two_data_sets_over_one_source_are_refused_before_anything_is_written(tmp_path: Path, ledger: Ledger):
    with pytest.raises(InvalidArgumentError, match=r"datasets.two.source.*'one' has it.*shares_source = true"):
        open_datasets(_sharing(tmp_path, ""), ledger)
    assert ledger.datasets() == []


def test_two_data_sets_over_one_source_that_are_meant_are_named_in_the_log(
    tmp_path: Path, ledger: Ledger, caplog: pytest.LogCaptureFixture
):
    config = _sharing(tmp_path, "shares_source = true")
    logging.getLogger("unlisted.server").propagate = True
    with caplog.at_level(logging.WARNING, "unlisted.server"):
        app = make_app(config, ledger)
    assert "'one' is about the same source as 'two'" in caplog.text
    assert ledger.dataset("one").failures.allowed == 9
    admin = Stranger(app)
    admin.sign_in(KeyRing(ledger).create("Ada", "admin"))
    assert "is about the same source as" in admin.get("/admin").text


def test_a_charge_that_nobody_knows_is_said_to_be_unknown():
    reply = problems.of_error(UncertainError.because("the server cannot be reached"))
    told = json.loads(bytes(reply.body))
    assert (reply.status_code, told["type"]) == (503, "urn:unlisted:problem:charge-unknown")
    assert told["charged"] is None
    assert "may or may not have been booked" in told["detail"]
    known = json.loads(bytes(problems.of_error(LedgerError("gone")).body))
    assert known["charged"] is False


@pytest.mark.parametrize(
    ("error", "kind"),
    [(UncertainError.because("it is gone"), UncertainError), (FrozenError("frozen"), FrozenError)],
)
def test_a_client_raises_what_the_service_says(error: ul.UnlistedError, kind: type[Exception]):
    reply = problems.of_error(error)

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(reply.status_code)
            self.send_header("Content-Type", problems.MEDIA_TYPE)
            self.end_headers()
            self.wfile.write(bytes(reply.body))

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(kind) as raised:
            connect(f"http://127.0.0.1:{server.server_port}", key="ul_x").datasets()
        server.shutdown()
    assert type(raised.value) is kind
    assert str(raised.value) == str(error)
