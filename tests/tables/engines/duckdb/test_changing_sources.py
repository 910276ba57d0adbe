"""A source that changes while a question is answered: one state of it is answered about, or the question fails."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.tables.fixtures.asked import SECRET, all_counts, question

import unlisted as ul
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.ledger.account import Account
from unlisted.query.charging import Charge, Deliver, Paid
from unlisted.tables.bounding import bounded_counts
from unlisted.tables.engines.duckdb.marks import ChangedFileError, marks_of
from unlisted.tables.table import Table, table

OLD = pa.table({"user": [f"u{n}" for n in range(90)], "item": ["old"] * 90})
NEW = pa.table({"user": [f"u{n}" for n in range(90)], "item": ["new"] * 90})
SWAPPED = pa.table({"item": OLD["user"], "user": OLD["item"]})
MESSAGE = "could not be answered; charged; see the log"


def write_csv(rows: pa.Table, path: Path) -> None:
    pyarrow.csv.write_csv(rows, path)


def write_gzip(rows: pa.Table, path: Path) -> None:
    with gzip.open(path, "wb") as file:
        pyarrow.csv.write_csv(rows, file)


def write_json(rows: pa.Table, path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("given", rows)
        connection.execute(f"COPY given TO '{path}' (FORMAT json)")


def write_database(rows: pa.Table, path: Path) -> None:
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")


WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "rows.parquet": pyarrow.parquet.write_table,
    "rows.csv": write_csv,
    "rows.csv.gz": write_gzip,
    "rows.jsonl": write_json,
    "rows.duckdb": write_database,
}


def replaced(path: Path, rows: pa.Table) -> None:
    """Put another file in the place of one, as programs do that write files safely."""
    beside = path.with_name(f"next-{path.name}")
    WRITERS[path.name](rows, beside)
    beside.replace(path)


def overwritten(path: Path, rows: pa.Table) -> None:
    """Write into the file itself, and set its time back to what it was."""
    beside, before = path.with_name(f"next-{path.name}"), path.stat()
    WRITERS[path.name](rows, beside)
    path.write_bytes(beside.read_bytes())
    # Clocks of file systems tick a few hundred times a second.
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = {"replaced": replaced, "overwritten": overwritten}


@pytest.fixture(params=WRITERS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    found = tmp_path / request.param
    WRITERS[request.param](OLD, found)
    return found


def opened(path: Path) -> Table:
    return table(path, user="user", **_in_database(path))


def _in_database(path: Path) -> dict[str, Any]:
    return {"table": "people"} if path.suffix == ".duckdb" else {}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_before_it_is_read_fails(path: Path, change: str) -> None:
    source, asked = opened(path), question("item")
    rows = source.rows(asked)
    query = bounded_counts(source.engine, source.user, asked, SECRET)
    CHANGES[change](path, NEW)
    with pytest.raises(ChangedFileError), source.engine.world(rows) as world:
        world.answer(query)


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_after_it_was_read_changes_nothing(path: Path, change: str) -> None:
    source, asked = opened(path), question("item")
    with source.engine.world(source.rows(asked)) as world:
        world.keep("bounded", bounded_counts(source.engine, source.user, asked, SECRET))
        CHANGES[change](path, NEW)
        assert world.answer('SELECT "i0", "n" FROM "bounded"').to_pylist() == [{"i0": "old", "n": 90}]


@pytest.mark.parametrize("rows", [NEW, SWAPPED], ids=["other rows", "other columns"])
def test_a_table_that_lives_long_describes_changed_files_anew(path: Path, rows: pa.Table) -> None:
    """Its columns may stand in another order: by the old header users would be items."""
    source = opened(path)
    assert all_counts(source, question("item")) == {("old",): 90}
    replaced(path, rows)
    expected = {("new",): 90} if rows is NEW else {(f"u{n}",): 1 for n in range(90)}
    assert all_counts(source, question("item", items_per_user=90)) == expected


def test_a_file_that_went_away_is_refused(tmp_path: Path) -> None:
    for name, write in WRITERS.items():
        write(OLD, tmp_path / name)
        source = opened(tmp_path / name)
        assert all_counts(source, question("item")) == {("old",): 90}
        (tmp_path / name).unlink()
        with pytest.raises(InvalidArgumentError, match="source"):
            source.rows(question("item"))


class ChangesBetween:
    """An account before whose eyes the data changes, after the amount was reserved and before data is touched."""

    def __init__(self, account: Account, change: Callable[[], object]) -> None:
        self._account = account
        self._change = change
        self.name = account.name
        self.accounting = account.accounting
        self.result_epsilon = account.result_epsilon
        self.question_delta = account.question_delta

    def has_answered(self, charge: Any, idempotency_key: str | None = None) -> bool:
        return False

    def pay(self, charge: Charge, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        def changed() -> Any:
            self._change()
            return deliver()

        return self._account.pay(charge, changed, idempotency_key)


def outcome(plan: ul.Plan) -> str | list[str]:
    try:
        return [row["item"] for row in plan.run().rows]
    except ChargedFailureError as failure:
        return str(failure)


def test_a_source_that_is_another_after_the_reservation_fails_charged_or_is_answered_about(
    path: Path, tmp_path: Path
) -> None:
    """It is described once more before it is read: the answer is about the new rows, or there is none."""
    private = ul.table(path, user="user", **_in_database(path))
    with ul.Ledger(tmp_path / "books.db") as ledger:
        account = ledger.open("ads", dataset="people", budget=ul.Budget(rho=99, delta="1e-4"))
        changes = [lambda: replaced(path, NEW), lambda: shutil.copy(__file__, path)]
        for at, change in enumerate(changes):
            plan = private.top("item", k=1, budget=ul.Budget(epsilon=8, delta=f"1e-{8 + at}"))
            said = outcome(plan.paid_by(ChangesBetween(account, change)))
            kind = ledger.history()[-1].kind
            assert (said, kind) in ((["new"], "settled"), ([], "settled"), (MESSAGE, "forfeited"))
        assert ledger.history()[-1].kind == "forfeited", "a file of nothing readable cannot be answered about"


def test_marks_see_what_times_of_writing_do_not(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"aaaa")
    before, marks = file.stat(), marks_of([str(file)])
    assert marks_of([str(file)]) == marks
    while file.stat().st_ctime_ns == before.st_ctime_ns:
        file.write_bytes(b"bbbb")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert marks_of([str(file)]) != marks
    assert marks_of([str(tmp_path / "none")]) == ((str(tmp_path / "none"),),)


@pytest.fixture
def people(postgres_url: str) -> Any:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE changing (who text, item text)")
        connection.execute(
            "INSERT INTO changing SELECT w, 'x' || g FROM unnest('{a,A}'::text[]) w, generate_series(1, 4) g"
        )
        yield connection
        connection.execute("DROP TABLE changing")


def test_a_column_that_becomes_another_type_is_seen(people: Any, postgres_url: str) -> None:
    source, asked = table(postgres_url, table="changing", user="who"), question("item", items_per_user=2)
    assert sum(all_counts(source, asked).values()) == 4
    rows = source.rows(asked)
    query = bounded_counts(source.engine, source.user, asked, SECRET)
    people.execute("ALTER TABLE changing ALTER who TYPE char(3)")
    with pytest.raises(RuntimeError, match="columns changed"), source.engine.world(rows) as world:
        world.answer(query)
    people.execute("ALTER TABLE changing ALTER who TYPE json USING to_json(who)")
    with pytest.raises(InvalidArgumentError, match="user = 'who'"):
        source.rows(asked)


def test_a_column_cannot_become_another_type_while_it_is_read(people: Any, postgres_url: str) -> None:
    source, asked = table(postgres_url, table="changing", user="who"), question("item", items_per_user=2)
    people.execute("SET lock_timeout = '50ms'")
    with source.engine.world(source.rows(asked)) as world:
        with pytest.raises(psycopg.errors.LockNotAvailable):
            people.execute("ALTER TABLE changing ALTER who TYPE char(3)")
        assert world.answer(bounded_counts(source.engine, source.user, asked, SECRET)).num_rows
