"""One world for several queries, one fixed answer when it fails, and nothing unreleased in what leaves."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.tables.fixtures.asked import SECRET, all_counts, question, small_counts

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables import counting
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.engines.duckdb import databases
from unlisted.tables.engines.engine import Rows, World
from unlisted.tables.failures import OWNER_LOG, charged
from unlisted.tables.table import Table, table

FIXED = "could not be answered; charged; see the log"
ROWS = pa.table({"user": ["a", "b", "c", "c"], "item": ["x", "y", "z", "z"]})


@pytest.fixture
def lazily(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "FEW_LABELS", 0)


@contextmanager
def kept_records(logger: logging.Logger) -> Iterator[list[logging.LogRecord]]:
    """What reaches the handlers of one logger, whether it was said there or handed on to it."""
    records: list[logging.LogRecord] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    keeper = Keeper()
    logger.addHandler(keeper)
    yield records
    logger.removeHandler(keeper)


@pytest.fixture
def owners_log() -> Iterator[list[logging.LogRecord]]:
    with kept_records(OWNER_LOG) as records:
        yield records


class Changing:
    """An engine whose kept table changes between two queries, as none may."""

    def __init__(self, real: Any, change: str) -> None:
        self._real = real
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @contextmanager
    def world(self, rows: Rows) -> Iterator[World]:
        with self._real.world(rows) as world:
            keep = world.keep

            def keep_and_remember(name: str, query: str) -> None:
                keep(name, query)
                self.connection = world._connection

            world.keep = keep_and_remember
            yield world

    def change(self) -> None:
        self.connection.execute(self._change)


@pytest.mark.usefixtures("lazily")
@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM unlisted_bounded WHERE i0 = 'y'",
        "UPDATE unlisted_bounded SET n = 2 WHERE i0 = 'y'",
        "DELETE FROM unlisted_bounded",
    ],
)
def test_a_later_answer_that_does_not_match_the_earlier_one_fails_charged(
    change: str, owners_log: list[logging.LogRecord]
) -> None:
    engine = Changing(table(ROWS, user="user").engine, change)

    def ask() -> None:
        with count_all(Table(engine, "user", "a source"), question("item"), cut=5, secret=SECRET) as found:
            assert isinstance(found, CountProfile)
            engine.change()
            small_counts(found)

    with pytest.raises(ChargedFailureError, match=FIXED):
        ask()
    assert len(owners_log) == 1


@pytest.mark.usefixtures("lazily")
def test_a_source_that_changes_or_goes_does_not_reach_a_world_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(ROWS, path)
    with count_all(table(path, user="user"), question("item"), cut=5, secret=SECRET) as found:
        path.unlink()
        assert isinstance(found, CountProfile)
        assert sorted(small_counts(found)) == [(("x",), 1), (("y",), 1), (("z",), 1)]


@pytest.mark.usefixtures("lazily")
def test_labels_come_in_the_order_they_were_asked_for() -> None:
    with count_all(table(ROWS, user="user"), question("item"), cut=5, secret=SECRET) as found:
        assert isinstance(found, CountProfile)
        ones = np.ones(3, dtype=np.int64)
        assert found.fetch(ones, np.array([2, 0, 1])).to_pylist() == ["z", "x", "y"]
        assert found.fetch(ones[:0], ones[:0]).to_pylist() == []


def test_failures_after_data_was_touched_say_one_thing(
    tmp_path: Path, owners_log: list[logging.LogRecord], capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(ROWS, path)
    source = table(path, user="user")
    assert source.columns()
    path.write_bytes(path.read_bytes()[:4] + b"the private words of a row" + path.read_bytes()[30:])
    with kept_records(logging.getLogger()) as others, pytest.raises(ChargedFailureError) as failed:
        count_top(source, question("item"), fetch=5, secret=SECRET)
    assert str(failed.value) == FIXED
    assert failed.value.__suppress_context__
    assert len(owners_log) == 1
    assert owners_log[0].exc_info is not None
    assert not others, "the cause went to loggers other than the owner's"
    assert "".join(capfd.readouterr()) == "", "the cause was printed"


def test_a_failing_mechanism_is_charged_too(owners_log: list[logging.LogRecord]) -> None:
    with (
        pytest.raises(ChargedFailureError, match=FIXED),
        count_all(table(ROWS, user="user"), question("item"), cut=5, secret=SECRET),
    ):
        raise ZeroDivisionError
    assert len(owners_log) == 1


def test_an_interrupt_stays_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), charged():
        raise KeyboardInterrupt


@pytest.mark.parametrize(("cut", "fetch"), [(-1, 1), (0.5, 1), (1, 0), (1, None)])
def test_public_numbers_are_checked_before_data_is_touched(cut: Any, fetch: Any) -> None:
    with pytest.raises(InvalidArgumentError):
        count_top(table("no-such-file.parquet", user="user"), question("item"), fetch=fetch, secret=SECRET)
    with (
        pytest.raises(InvalidArgumentError),
        count_all(table("no-such-file.parquet", user="user"), question("item"), cut=cut, secret=SECRET),
    ):
        pass


def test_nothing_but_the_answer_is_in_what_leaves() -> None:
    planted = "planted-and-never-released"
    rows = pa.table(
        {
            "user": [f"u{i}" for i in range(9)],
            "item": pa.array(["x"] * 5 + ["y"] * 3 + [planted]).dictionary_encode(),
        },
        metadata={"note": planted},
    )
    found = count_top(table(rows, user="user"), question("item"), fetch=1, secret=SECRET)
    sink = pa.BufferOutputStream()
    answer = pa.table({"item": found.labels})
    with pa.ipc.new_stream(sink, answer.schema) as stream:
        stream.write_table(answer)
    assert planted.encode() not in sink.getvalue().to_pybytes()
    assert all(planted.encode() not in buffer.to_pybytes() for buffer in found.labels.buffers() if buffer)
    assert found.labels.type == pa.string()


def test_an_enumeration_is_text_in_the_order_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TYPE size AS ENUM ('small', 'medium', 'large', 'never used')")
        connection.execute('CREATE TABLE "rows" AS SELECT i AS "user", s::size AS item FROM '
                           "(VALUES (1, 'small'), (2, 'medium'), (3, 'large')) AS v(i, s)")  # fmt: skip
    found = count_top(table(path, user="user", table="rows"), question("item"), fetch=5, secret=SECRET)
    assert found.labels.to_pylist() == ["large", "medium", "small"]
    assert found.labels.type == pa.string()


def test_collated_columns_are_compared_by_their_bytes(tmp_path: Path) -> None:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute('CREATE TABLE "rows" ("user" VARCHAR, item VARCHAR COLLATE NOCASE)')
        connection.execute("INSERT INTO \"rows\" VALUES ('a', 'x'), ('A', 'X'), ('a', 'X'), ('b', 'é')")
    source = table(path, user="user", table="rows")
    assert all_counts(source, question("item")) == {("x",): 1, ("X",): 2, ("é",): 1}
    assert all_counts(source, question("item", where="item = 'x'")) == {("x",): 1}


@pytest.mark.parametrize("is_file", [True, False])
def test_the_engine_leaves_nothing_behind(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, *, is_file: bool
) -> None:
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pyarrow.parquet.write_table(ROWS, file)
    source = table(file if is_file else ROWS, user="user")
    assert source.columns()
    databases.forget()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with count_all(source, question("item"), cut=5, secret=SECRET) as found:
        assert isinstance(found, BoundedCounts)
        (folder,) = tmp_path.iterdir()
        assert folder.stat().st_mode & 0o077 == 0, "others may look into the folder"
    # For rows in memory the next question finds the same folder, with nothing in it.
    assert is_file or list(folder.iterdir()) == []
    databases.forget()
    assert list(tmp_path.iterdir()) == []
