"""Who may only read a ledger can read it, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.cli.shell import unlisted
from tests.ledger.books import budget, charge, delivers

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.schema import STEPS, grants, keys, migrations
from unlisted.ledger.verify import verify

NOBODY = 65534
# With characters that mean something in a URL.
NAME = "budget of 50% #1?.db"


@pytest.fixture
def place() -> Iterator[Path]:
    """A ledger that everybody may read, in a folder that everybody may enter."""
    folder = Path(tempfile.mkdtemp())
    with Ledger(folder / NAME) as ledger:
        ledger.create_dataset("searches", budget=budget(), version="november")
        ledger.open("ads", dataset="searches", budget=budget("0.5")).pay(charge("q"), delivers())
    (folder / NAME).chmod(0o444)
    folder.chmod(0o555)
    yield folder / NAME
    folder.chmod(0o755)
    shutil.rmtree(folder)


def as_a_stranger(do: Callable[[], object]) -> object:
    """Do something in a process that may write to nothing of ours; return what it came to, as JSON has it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            os.write(writer, json.dumps(do()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return json.loads(said)


def test_it_is_read_verified_and_not_written_to(place):
    def read() -> list[object]:
        with Ledger(place, read_only=True) as ledger:
            found = [len(ledger.history()), ledger.account("ads").balance().left.texts[0], verify(ledger)]
            with pytest.raises(LedgerError, match=r"read only\. Nothing was written"):
                ledger.account("ads").pay(charge("another"), delivers())
            return found

    assert as_a_stranger(read) == [4, "0.4", []]
    assert list(place.parent.iterdir()) == [place]


def test_it_is_read_while_somebody_writes(place):
    place.parent.chmod(0o755)
    place.chmod(0o644)
    with Ledger(place) as owner:
        owner.declare_version("searches", "december")
        place.parent.chmod(0o555)

        def read() -> list[str | None]:
            with Ledger(place, read_only=True) as ledger:
                return [ledger.dataset("searches").version]

        assert as_a_stranger(read) == ["december"]
        place.parent.chmod(0o755)
        owner.declare_version("searches", "january")
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize(
    "words",
    [
        ("account", "show", "ads"),
        ("account", "list"),
        ("dataset", "show", "searches"),
        ("ledger", "verify"),
        ("ledger", "history"),
        ("ledger", "export"),
    ],
    ids=" ".join,
)
def test_verbs_that_only_read_need_no_write_access(place, words):
    def run() -> list[object]:
        done = unlisted(*words, "--ledger", place)
        return [done.code, done.text, done.said]

    code, text, said = run()
    assert (code, said) == (0, "")
    assert as_a_stranger(run) == [code, text, said]


def test_verify_says_what_it_could_not_forfeit(place):
    place.parent.chmod(0o755)
    place.chmod(0o644)
    child = os.fork()
    if not child:
        with Ledger(place) as own:
            own.account("ads").pay(charge("lost"), lambda: os._exit(0))
    os.waitpid(child, 0)
    with Ledger(place) as ledger:
        assert ledger.account("ads").balance().account.reserved.texts[0] == "0.1"
    place.parent.chmod(0o555)
    place.chmod(0o444)

    def run() -> list[object]:
        done = unlisted("ledger", "verify", "--ledger", place)
        return [done.code, done.text, done.said]

    unlisted("account", "list", "--ledger", place)  # what is imported late is not a stranger's to read
    code, text, said = as_a_stranger(run)
    assert (code, text) == (0, "The ledger adds up: 5 entries, 0 receipts.\n")
    assert said.startswith("Not forfeited: 1 reservation of processes that are gone, still spent. ")
    assert "cannot be written to" in said


def test_a_ledger_that_is_not_there_is_not_begun(tmp_path, postgres_ledger_url):
    for url in (tmp_path / "budget.db", postgres_ledger_url):
        with pytest.raises(InvalidArgumentError, match="a ledger that is there already"):
            Ledger(url, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_of_an_older_version_is_brought_up_to_date(ledger, ledger_url):
    ledger.open("ads", dataset="searches", budget=budget())
    with ledger.store.writing() as connection:
        for table in (grants, keys):
            table.drop(connection)
        newer = [name for name, _ in STEPS if name >= "2"]
        connection.execute(migrations.delete().where(migrations.c.name.in_(newer)))
    with Ledger(ledger_url, read_only=True) as reader:
        assert len(reader.history()) == 2
        with reader.store.reading() as connection:
            assert sa.inspect(connection).has_table(keys.name)


def test_a_reader_on_either_store_sees_what_there_is_and_writes_nothing(ledger, ledger_url):
    account = ledger.open("ads", dataset="searches", budget=budget())
    with Ledger(ledger_url, read_only=True) as reader:
        account.pay(charge("q"), delivers())
        assert reader.history() == ledger.history()
        assert verify(reader) == []
        with pytest.raises(LedgerError, match="read only"):
            reader.declare_version("searches", "december")
    assert len(ledger.history()) == 4


def test_a_newer_ledger_is_not_read(ledger, ledger_url):
    with ledger.store.writing() as connection:
        connection.execute(migrations.insert().values(name="999 something else"))
    with pytest.raises(LedgerError, match="newer version"):
        Ledger(ledger_url, read_only=True)
