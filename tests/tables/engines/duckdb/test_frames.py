"""Data frames and streams: read where they are, only what is needed, and only as often as they can be."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from tests.tables.fixtures.asked import SECRET, all_counts, question
from tests.tables.fixtures.engines import installed

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables.checking import check
from unlisted.tables.column_types import ColumnType
from unlisted.tables.counting import count_top
from unlisted.tables.engines.duckdb.pandas_frames import same_text
from unlisted.tables.table import table

ROWS = pa.table({"user": ["a", "b", "c"], "item": ["x", "x", "y"], "list": [[1], [2], [3]]})


class OnlyAStream:
    """An object of an unknown library that speaks Arrow."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._rows.__arrow_c_stream__(requested_schema)


class Sized(OnlyAStream):
    """One that knows its length, and so can be read again."""

    def __len__(self) -> int:
        return len(self._rows)


@pytest.mark.parametrize(
    "source", [ROWS, OnlyAStream(ROWS), Sized(ROWS), ROWS.to_reader()], ids=lambda s: type(s).__name__
)
def test_whatever_speaks_arrow_is_read(source: Any) -> None:
    found = table(source, user="user")
    assert found.columns() == {"user": ColumnType.TEXT, "item": ColumnType.TEXT, "list": ColumnType.OTHER}
    assert all_counts(found, question("item", where="item <> 'z'")) == {("x",): 2, ("y",): 1}


@pytest.mark.parametrize("source", [ROWS.to_reader(), OnlyAStream(ROWS)], ids=["reader", "stream"])
def test_a_stream_is_read_once_and_asking_again_is_refused(source: Any) -> None:
    found = table(source, user="user")
    assert all_counts(found, question("item")) == {("x",): 2, ("y",): 1}
    with pytest.raises(InvalidArgumentError, match="Collect it into a table"):
        found.rows(question("item"))
    with pytest.raises(InvalidArgumentError, match="Collect it into a table"):
        all_counts(found, question("item"))


def test_a_stream_is_read_batch_by_batch() -> None:
    taken = []

    def batches() -> Iterator[pa.RecordBatch]:
        for at in range(5):
            taken.append(at)
            yield pa.record_batch({"user": [f"u{at}"], "item": ["x"]})

    schema = pa.schema({"user": pa.string(), "item": pa.string()})
    found = table(pa.RecordBatchReader.from_batches(schema, batches()), user="user")
    found.rows(question("item"))
    assert taken == []
    assert all_counts(found, question("item")) == {("x",): 5}


def test_a_stream_that_breaks_off_is_charged() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"user": ["a"], "item": ["x"]})
        raise OSError("the private words of a row")

    schema = pa.schema({"user": pa.string(), "item": pa.string()})
    found = table(pa.RecordBatchReader.from_batches(schema, batches()), user="user")
    with pytest.raises(ChargedFailureError, match="could not be answered"):
        count_top(found, question("item"), fetch=5, secret=SECRET)


def test_names_that_differ_in_case_are_different_columns() -> None:
    rows = pa.table({"User": ["a", "b"], "user": ["c", "c"], "item": ["x", "y"], "ITEM": ["z", "z"]})
    assert all_counts(table(rows, user="User"), question("ITEM", items_per_user=1)) == {("z",): 2}
    assert all_counts(table(rows, user="user"), question("ITEM", items_per_user=1)) == {("z",): 1}
    assert list(table(rows, user="user").columns()) == ["User", "user", "item", "ITEM"]


def test_a_name_that_is_there_twice_is_not_there() -> None:
    rows = pa.table([["a"], ["x"], ["y"]], names=["user", "item", "item"])
    with pytest.raises(InvalidArgumentError, match="The columns are: user"):
        table(rows, user="user").rows(question("item"))


@pytest.mark.parametrize(
    "array",
    [
        pa.array(["x", "y"]).dictionary_encode(),
        pa.array(["x", "y"], pa.large_string()),
        pa.array(["x", "y"], pa.string_view()),
    ],
    ids=["dictionary", "large", "view"],
)
def test_every_kind_of_text_becomes_plain_text(array: pa.Array) -> None:
    rows = pa.table({"user": [1, 2], "item": array})
    found = count_top(table(rows, user="user"), question("item"), fetch=5, secret=SECRET)
    assert found.labels.to_pylist() == ["x", "y"]
    assert found.labels.type == pa.string()


def test_a_column_that_duckdb_cannot_read_does_not_hide_the_others() -> None:
    wide = pa.array([decimal.Decimal(1)] * 3, pa.decimal256(60, 0))
    rows = ROWS.append_column("wide", wide)
    found = table(rows, user="user")
    assert set(found.columns()) >= {"user", "item"}
    assert all_counts(found, question("item")) == {("x",): 2, ("y",): 1}


class TestPolars:
    def test_a_lazy_frame_runs_when_it_is_asked_and_not_before(self) -> None:
        polars = installed("polars")
        runs = []

        def seen(frame: Any) -> Any:
            runs.append(frame.columns)
            return frame

        lazy = polars.from_arrow(ROWS).lazy().map_batches(seen, schema=polars.from_arrow(ROWS).schema)
        found = table(lazy, user="user")
        found.rows(question("item", where="item = 'x'"))
        assert runs == []
        assert all_counts(found, question("item")) == {("x",): 2, ("y",): 1}
        assert len(runs) == 1

    def test_a_lazy_frame_reads_only_the_columns_that_are_needed(self, tmp_path: Any) -> None:
        polars = installed("polars")
        path = tmp_path / "rows.parquet"
        polars.from_arrow(ROWS).write_parquet(path)
        lazy = polars.scan_parquet(path).with_columns(trap=polars.col("item").cast(polars.Int64, strict=True))
        assert all_counts(table(lazy, user="user"), question("item")) == {("x",): 2, ("y",): 1}
        with pytest.raises(ChargedFailureError):
            all_counts(table(lazy, user="user"), question("trap"))

    def test_a_plan_that_cannot_be_made_is_refused(self) -> None:
        polars = installed("polars")
        lazy = polars.from_arrow(ROWS).lazy().select("no such column")
        with pytest.raises(InvalidArgumentError, match="can be planned"):
            table(lazy, user="user").columns()

    def test_categories_are_the_texts_they_stand_for(self) -> None:
        polars = installed("polars")
        frame = polars.from_arrow(ROWS).with_columns(
            kind=polars.Series(["u", "v", "u"], dtype=polars.Categorical),
            size=polars.Series(["u", "v", "u"], dtype=polars.Enum(["v", "u", "never used"])),
        )
        for source in (frame, frame.lazy()):
            for column in ("kind", "size"):
                found = count_top(table(source, user="user"), question(column), fetch=5, secret=SECRET)
                assert found.labels.to_pylist() == ["u", "v"]
                assert found.labels.type == pa.string()


class LoudNumber(int):
    def __str__(self) -> str:
        raise RuntimeError("not to be said")


class Stopping(int):
    def __str__(self) -> str:
        raise KeyboardInterrupt


class LoudText(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise LookupError("not to be compared")

    __ne__ = __eq__

    def __hash__(self) -> int:
        raise LookupError("not to be hashed")


class Faceless:
    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("not to be asked")


class LoudZone(datetime.tzinfo):
    def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
        raise RuntimeError("not to be asked")


class TestPandas:
    def test_a_column_of_objects_is_text_whatever_it_holds(self) -> None:
        pandas = installed("pandas")
        day, number = datetime.date(2024, 2, 29), uuid.UUID(int=7)
        values = ["x", 1, 1.5, True, day, number, decimal.Decimal("2.50"), [1], "\ud800"]
        nothing = [None, float("nan"), pandas.NaT, pandas.NA, b"x", {1}, object(), decimal.Decimal("sNaN")]
        frame = pandas.DataFrame(
            {"user": range(len(values + nothing)), "item": pandas.Series(values + nothing, dtype=object)}
        )
        found = table(frame, user="user")
        assert found.columns()["item"] is ColumnType.TEXT
        assert set(all_counts(found, question("item"))) == {
            ("x",), ("1",), ("1.5",), ("True",), (str(day),), (str(number),), ("2.50",), ("[1]",),
        }  # fmt: skip

    @pytest.mark.parametrize("column", ["user", "item"])
    def test_an_object_that_raises_is_no_value(self, column: str) -> None:
        pandas = installed("pandas")
        other = "item" if column == "user" else "user"
        for rude in (LoudNumber(7), LoudText("x"), Faceless(), datetime.datetime(2024, 1, 1, tzinfo=LoudZone())):
            objects = pandas.Series(["a", rude, "b"], dtype=object)
            frame = pandas.DataFrame({column: objects, other: ["a", "x", "b"]})
            assert all_counts(table(frame, user="user"), question("item")) == {("a",): 1, ("b",): 1}

    def test_an_interrupt_inside_an_object_is_an_interrupt(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            same_text(Stopping(7))

    @pytest.mark.parametrize("kind", ["string[python]", "category"])
    @pytest.mark.parametrize("column", ["user", "item"])
    def test_texts_that_pandas_keeps_need_not_be_utf_8(self, kind: str, column: str) -> None:
        pandas = installed("pandas")
        other = "item" if column == "user" else "user"
        held = pandas.Series(["a", "caf\udce9", "b", None], dtype="string[python]").astype(kind)
        frame = pandas.DataFrame({column: held, other: ["a", "x", "b", "y"]})
        assert all_counts(table(frame, user="user"), question("item")) == {("a",): 1, ("b",): 1}

    def test_the_type_of_a_column_does_not_depend_on_its_rows(self) -> None:
        pandas = installed("pandas")
        for values in (["x"], [1], [], [None]):
            frame = pandas.DataFrame({"user": values, "item": pandas.Series(values, dtype=object)})
            assert table(frame, user="user").columns()["item"] is ColumnType.TEXT

    def test_missing_values_are_missing(self) -> None:
        pandas = installed("pandas")
        frame = pandas.DataFrame(
            {
                "user": [1.0, 2.0, float("nan"), 4.0],
                "item": ["x", None, "x", "x"],
                "number": pandas.array([1, None, 3, 1], dtype="Int64"),
                "kind": pandas.Categorical(["u", "u", "v", None]),
                "when": pandas.to_datetime(["2024-01-01", None, "2024-01-01", "2024-01-01"]),
            }
        )
        found = table(frame, user="user")
        assert all_counts(found, question("item")) == {("x",): 2}
        assert all_counts(found, question("number")) == {(1,): 2}
        assert all_counts(found, question("kind")) == {("u",): 2}
        assert sum(all_counts(found, question("when")).values()) == 2

    def test_columns_that_cannot_be_asked_about_do_not_hide_the_others(self) -> None:
        pandas = installed("pandas")
        frame = pandas.DataFrame(
            [["a", "x", 1j, 0, 1, 2]], columns=["user", "item", "complex", 7, "twice", "twice"]
        )
        assert list(table(frame, user="user").columns()) == ["user", "item"]
        assert all_counts(table(frame, user="user"), question("item")) == {("x",): 1}

    def test_a_name_that_is_no_text_is_said_with_what_to_do(self) -> None:
        rows = installed("pandas").DataFrame([["a", "x"], ["b", "y"]])
        with pytest.raises(
            InvalidArgumentError, match=r"The columns are: none\. 2 columns have names .*map\(str\)"
        ):
            table(rows, user="0").rows(question("1"))
        with pytest.raises(InvalidArgumentError, match=r"2 columns have names .*map\(str\)"):
            check(rows)
        rows.columns = rows.columns.map(str)
        assert all_counts(table(rows, user="0"), question("1", items_per_user=1)) == {("x",): 1, ("y",): 1}
        with pytest.raises(InvalidArgumentError, match=r"user\. 1 column has a name that cannot be asked for"):
            table(rows.set_axis(["user", 1], axis=1), user="user").rows(question("1"))
        with pytest.raises(InvalidArgumentError, match="share a name cannot be asked for: rename them"):
            table(rows.set_axis(["user", "user"], axis=1), user="user").rows(question("1"))

    def test_a_series_is_no_table(self) -> None:
        pandas = installed("pandas")
        with pytest.raises(InvalidArgumentError, match="a data frame"):
            table(pandas.Series(["a"]), user="user")


class TestWhatPandasHoldsBesides:
    """Periods, intervals, lists and an index: handled, or refused before anything is spent."""

    def test_periods_and_intervals_are_texts(self) -> None:
        pandas = installed("pandas")
        months = pandas.period_range("2025-11", periods=3, freq="M").insert(3, pandas.NaT)
        frame = pandas.DataFrame(
            {"user": range(4), "month": months, "age": pandas.cut([1, 5, 15, 99], [0, 10, 20])}
        )
        source = table(frame, user="user")
        assert all_counts(source, question("month")) == {("2025-11",): 1, ("2025-12",): 1, ("2026-01",): 1}
        assert all_counts(source, question("age")) == {("(0, 10]",): 2, ("(10, 20]",): 1}
        assert all_counts(source, question("age", where="month = '2025-11'")) == {("(0, 10]",): 1}

    def test_lists_are_texts_and_no_users(self) -> None:
        pandas, numpy = installed("pandas"), installed("numpy")
        itself: list[Any] = []
        itself.append(itself)
        lists = [["a", 1], ["a", 1], ("é", None), numpy.array([1, 2]), itself, [object()]]
        frame = pandas.DataFrame({"user": range(6), "tags": pandas.Series(lists, dtype=object)})
        assert all_counts(table(frame, user="user"), question("tags")) == {
            ('["a", 1]',): 2,
            ('["é", null]',): 1,
            ("[1, 2]",): 1,
            ("[null]",): 1,
        }
        assert all_counts(table(frame, user="tags"), question("user")) == {}

    @pytest.mark.parametrize("levels", [["user"], ["day", "user"]])
    def test_a_named_index_is_a_column(self, levels: list[str]) -> None:
        pandas = installed("pandas")
        rows = pandas.DataFrame({"user": [1, 2, 2], "day": ["a", "b", "b"], "item": ["x", "x", "y"]})
        source = table(rows.set_index(levels), user="user")
        assert {"user", "item"} <= set(source.columns())
        assert all_counts(source, question("item")) == {("x",): 2, ("y",): 1}

    def test_a_column_goes_before_an_index_of_its_name(self) -> None:
        pandas = installed("pandas")
        rows = pandas.DataFrame({"user": [1, 2], "item": ["x", "y"]}, index=pandas.Index([7, 7], name="user"))
        assert all_counts(table(rows, user="user"), question("item", items_per_user=1)) == {("x",): 1, ("y",): 1}
