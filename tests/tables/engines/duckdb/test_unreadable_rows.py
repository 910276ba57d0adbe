"""A row that cannot be read is as if it were not there: the same counts with it and without it, and no failure.

Every case counts a table with the hostile row, and the same table without it, as an item, as a user, and as a
column of the predicate.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.fixtures.asked import all_counts, question, top_counts
from tests.tables.fixtures.engines import installed
from tests.tables.fixtures.hostile_values import LATIN, LONG_LATIN, decimals, dictionary, people, stored, texts

from unlisted.tables.engines.duckdb import engine
from unlisted.tables.table import Table, table

FAR = 2**63 - 1
NAN = float("nan")
Maker = Callable[[pa.Table, Path], Any]


def items(count: int) -> list[bytes]:
    return [b"item%d" % (i % 3) for i in range(count)]


def written(rows: pa.Table, folder: Path, **how: Any) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(rows, path, **how)
    return path


def plain(rows: pa.Table, folder: Path) -> Path:
    return written(rows, folder, use_dictionary=False)


def in_dictionaries(rows: pa.Table, folder: Path) -> Path:
    return written(rows, folder, use_dictionary=True)


def in_small_groups(rows: pa.Table, folder: Path) -> Path:
    return written(rows, folder, row_group_size=100, data_page_version="2.0", write_page_index=True)


def without_statistics(rows: pa.Table, folder: Path) -> Path:
    return written(rows, folder, write_statistics=False, compression="zstd")


def several_files(rows: pa.Table, folder: Path) -> str:
    middle = len(rows) // 2
    for at, part in enumerate((rows.slice(0, middle), rows.slice(middle))):
        pq.write_table(part, folder / f"part{at}.parquet")
    return str(folder / "part*.parquet")


def in_memory(rows: pa.Table, folder: Path) -> pa.Table:
    return rows


def stream(rows: pa.Table, folder: Path) -> pa.RecordBatchReader:
    return rows.to_reader(max_chunksize=1000)


def polars(rows: pa.Table, folder: Path) -> Any:
    return installed("polars").from_arrow(rows)


def lazy(rows: pa.Table, folder: Path) -> Any:
    return installed("polars").from_arrow(rows).lazy()


def pandas(rows: pa.Table, folder: Path) -> Any:
    return rows.to_pandas(types_mapper=installed("pandas").ArrowDtype)


FILES: list[Maker] = [plain, in_dictionaries, in_small_groups, without_statistics, several_files]
FRAMES: list[Maker] = [in_memory, stream, polars, lazy, pandas]


def table_with(hostile: pa.Array, role: str) -> tuple[pa.Table, pa.Table]:
    """A table in which the last value of a column is hostile, and the same without that row."""
    count = len(hostile)
    if role == "item":
        rows = people(count, hostile)
    elif role == "user":
        rows = people(count, texts(items(count))).set_column(0, "user", hostile)
    else:
        rows = people(count, texts(items(count)), seen=hostile)
    return rows, rows.slice(0, count - 1)


def counts(make: Maker, rows: pa.Table, folder: Path, where: str | None = None) -> dict[Any, int]:
    folder.mkdir()
    asked = question("item", items_per_user=2, where=where)
    return all_counts(table(make(rows, folder), user="user"), asked)


def check(make: Maker, hostile: pa.Array, role: str, folder: Path, *predicates: str | None) -> None:
    with_it, without_it = table_with(hostile, role)
    for at, where in enumerate(predicates or [None, "age >= 10"]):
        found = counts(make, with_it, folder / f"with{at}", where)
        assert found == counts(make, without_it, folder / f"without{at}", where)
        assert found or where


TEXTS = {
    "plain": lambda count, bad: texts([*items(count - 1), bad]),
    "large": lambda count, bad: texts([*items(count - 1), bad], pa.large_string()),
    "view": lambda count, bad: texts([*items(count - 1), bad], pa.string_view()),
    "dictionary": lambda count, bad: dictionary([*items(count - 1), bad], pa.string()),
    "dictionary of large": lambda count, bad: dictionary([*items(count - 1), bad], pa.large_string()),
    "dictionary of views": lambda count, bad: dictionary([*items(count - 1), bad], pa.string_view()),
}
ON_TEXT = ("seen = 'item1'", "seen LIKE '%1'", "seen LIKE '_tem_'", "seen >= 'item1'", "seen IN ('item1', 'x')")


@pytest.mark.parametrize("count", [5001, 20001])
@pytest.mark.parametrize("make", [plain, in_dictionaries], ids=lambda make: make.__name__)
@pytest.mark.parametrize("role", ["item", "user"])
def test_bytes_that_are_no_text_in_parquet(make: Maker, role: str, count: int, tmp_path: Path) -> None:
    check(make, TEXTS["plain"](count, LATIN), role, tmp_path, "age >= 10", "age < 10")


@pytest.mark.parametrize(
    ("make", "bad"),
    list(zip(FILES, [LATIN, LONG_LATIN, b"\xed\xa0\x80", b"\xff\x00", b"\xc3"], strict=True)),
    ids=lambda value: getattr(value, "__name__", None),
)
def test_any_bytes_however_a_file_was_written(make: Maker, bad: bytes, tmp_path: Path) -> None:
    check(make, TEXTS["plain"](2001, bad), "item", tmp_path)


@pytest.mark.parametrize("make", [plain, in_dictionaries, in_memory, stream], ids=lambda make: make.__name__)
def test_bytes_that_are_no_text_in_a_predicate(make: Maker, tmp_path: Path) -> None:
    check(make, TEXTS["plain"](5001, LATIN), "predicate", tmp_path, *ON_TEXT)


@pytest.mark.parametrize("make", [plain, in_memory], ids=lambda make: make.__name__)
def test_what_cannot_be_read_is_null_to_a_predicate(make: Maker, tmp_path: Path) -> None:
    with_it, _ = table_with(TEXTS["plain"](501, LATIN), "predicate")
    assert sum(counts(make, with_it, tmp_path / "null", "seen IS NULL").values()) == 1
    assert sum(counts(make, with_it, tmp_path / "not", "NOT (seen = 'x')").values()) == 500


@pytest.mark.parametrize("kind", list(TEXTS))
@pytest.mark.parametrize(("role", "bad"), [("item", LATIN), ("user", LONG_LATIN)], ids=["item", "user"])
def test_bytes_that_are_no_text_in_an_arrow_frame(kind: str, role: str, bad: bytes, tmp_path: Path) -> None:
    check(in_memory, TEXTS[kind](3001, bad), role, tmp_path)


@pytest.mark.parametrize("make", FRAMES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("role", ["item", "user"])
def test_bytes_that_are_no_text_in_every_kind_of_frame(make: Maker, role: str, tmp_path: Path) -> None:
    check(make, TEXTS["large"](3001, LATIN), role, tmp_path)


def floats(count: int, kind: pa.DataType) -> pa.Array:
    return pa.array([*(float(i % 9) for i in range(count - 1)), NAN], kind)


@pytest.mark.parametrize("make", [*FILES, *FRAMES], ids=lambda make: make.__name__)
@pytest.mark.parametrize(("kind", "role"), [(pa.float32(), "item"), (pa.float64(), "user")], ids=["item", "user"])
def test_nan_is_not_counted(make: Maker, kind: pa.DataType, role: str, tmp_path: Path) -> None:
    check(make, floats(2001, kind), role, tmp_path)


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_nan_is_above_nothing(make: Maker, tmp_path: Path) -> None:
    check(
        make,
        floats(2001, pa.float64()),
        "predicate",
        tmp_path,
        "seen > 5",
        "seen >= 0",
        "seen <> 1",
        "NOT seen < 5",
    )


def test_half_floats_in_parquet(tmp_path: Path) -> None:
    check(plain, floats(2001, pa.float64()).cast(pa.float32()).cast(pa.float16()), "item", tmp_path)


def test_nan_that_polars_wrote(tmp_path: Path) -> None:
    rows = installed("polars").from_arrow(people(2001, floats(2001, pa.float64())))
    path = tmp_path / "polars.parquet"
    rows.write_parquet(path)
    found = all_counts(table(path, user="user"), question("item", items_per_user=2, where="item > 5"))
    assert set(found) == {(6.0,), (7.0,), (8.0,)}


@pytest.mark.parametrize("where", [None, "item > 5"])
def test_nan_in_a_duckdb_file(where: str | None, tmp_path: Path) -> None:
    rows = people(5001, floats(5001, pa.float64()))
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        connection.register("given", rows)
        connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    found = all_counts(
        table(tmp_path / "rows.duckdb", user="user", table="visits"),
        question("item", items_per_user=2, where=where),
    )
    assert set(found) == {(float(i),) for i in range(6 if where else 0, 9)}


MOMENTS = {
    "seconds": stored([0, 86400, 0, FAR], pa.timestamp("s")),
    "milliseconds": stored([0, 86400, 0, FAR // 10], pa.timestamp("ms")),
    "microseconds": stored([0, 86400, 0, -FAR - 1], pa.timestamp("us")),
    "infinite": stored([0, 86400, 0, FAR], pa.timestamp("us")),
    "days": stored([0, 1, 0, 2**31 - 1], pa.date32()),
    "days before": stored([0, 1, 0, -(2**31)], pa.date32()),
    "decimals": decimals([5, 7, 5, 10**9 + 7], 9),
    "long decimals": decimals([5, 7, 5, 10**38], 38),
}
USERS_ONLY = {
    "zoned seconds": stored([0, 86400, 0, FAR // 1000], pa.timestamp("s", "UTC")),
    "zoned milliseconds": stored([0, 86400, 0, FAR // 10], pa.timestamp("ms", "UTC")),
    "zoned microseconds": stored([0, 86400, 0, -FAR - 1], pa.timestamp("us", "UTC")),
    "times": stored([0, 5, 0, 2**60], pa.time64("us")),
    "negative times": stored([0, 5, 0, -5], pa.time32("ms")),
    "whole days": stored([0, 5, 0, 86_400_000_000], pa.time64("us")),
}


@pytest.mark.parametrize("make", [plain, in_memory], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", list(MOMENTS))
@pytest.mark.parametrize("role", ["item", "user", "predicate"])
def test_moments_and_numbers_out_of_range(make: Maker, name: str, role: str, tmp_path: Path) -> None:
    predicates = ["seen IS NOT NULL"] if role == "predicate" else [None]
    hostile = MOMENTS[name]
    if name == "seconds" and make is plain:
        # Parquet has no seconds: they are stored as milliseconds, and must fit.
        hostile = stored([0, 86400, 0, FAR // 1000], pa.timestamp("s"))
    check(make, hostile, role, tmp_path, *predicates)


@pytest.mark.parametrize("make", [plain, in_memory], ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", list(USERS_ONLY))
@pytest.mark.parametrize("role", ["user", "predicate"])
def test_users_out_of_range(make: Maker, name: str, role: str, tmp_path: Path) -> None:
    predicates = ["seen IS NOT NULL"] if role == "predicate" else [None]
    check(make, USERS_ONLY[name], role, tmp_path, *predicates)


def test_an_old_timestamp_of_96_bits(tmp_path: Path) -> None:
    moments = stored([0, 86_400_000_000_000, 0, FAR], pa.timestamp("ns"))
    rows = people(4, moments, text=texts([b"a", b"b", b"c", LATIN]))
    path = written(rows, tmp_path, use_deprecated_int96_timestamps=True)
    source = table(path, user="user")
    before = all_counts(source, question("item"))
    # The text makes DuckDB fail, so the same column is read by Arrow.
    after = all_counts(source, question("item", where="text IS NULL OR text <> 'x'"))
    assert before == after


def test_an_index_outside_its_dictionary_in_a_frame(tmp_path: Path) -> None:
    indices = pa.array([0, 1, 0, -1], pa.int8())
    hostile = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    check(in_memory, hostile, "item", tmp_path)


@pytest.mark.parametrize("kind", [pa.uint8(), pa.uint32(), pa.uint64()], ids=str)
def test_a_dictionary_whose_indices_have_no_sign(kind: pa.DataType, tmp_path: Path) -> None:
    numbers = pa.array([0, 1, 0, None, 2], kind)
    hostile = pa.DictionaryArray.from_arrays(numbers, texts([b"a", b"b", LATIN]))
    check(in_memory, hostile, "item", tmp_path)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("role", ["item", "user"])
def test_a_dictionary_in_parquet_however_its_texts_are_encoded(encoding: str, role: str, tmp_path: Path) -> None:
    def encoded(rows: pa.Table, folder: Path) -> Path:
        return written(rows, folder, use_dictionary=False, column_encoding={role: encoding})

    check(encoded, TEXTS["dictionary"](501, LATIN), role, tmp_path)


def maps(*entries: Any) -> pa.Array:
    return pa.array(entries, pa.map_(pa.string(), pa.int64()))


TWICE = [("k", 1), ("k", 2)]
INSIDE = {
    "a key twice": maps([("k", 1)], TWICE, None),
    "a key twice in a list": pa.array([[[("k", 1)]], [TWICE], None], pa.list_(maps().type)),
    "a moment too far": pa.array([[0], [FAR], None], pa.list_(pa.timestamp("s", "UTC"))),
    "no text": pa.ListArray.from_arrays(pa.array([0, 1, None, 2], pa.int32()), texts([b"a", LATIN])),
}
WRITABLE = [name for name in INSIDE if name != "a moment too far"]
"""Parquet has no seconds: they are stored as milliseconds, and must fit."""


@pytest.mark.parametrize(
    ("make", "name"),
    [*((make, name) for make in (in_memory, stream) for name in INSIDE), *((plain, name) for name in WRITABLE)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_what_is_inside_a_list_or_a_map_is_nobodys_business(make: Maker, name: str, tmp_path: Path) -> None:
    rows = people(3, texts(items(3)), seen=INSIDE[name])
    assert sum(counts(make, rows, tmp_path / "there", "seen IS NOT NULL").values()) == 2
    assert sum(counts(make, rows, tmp_path / "null", "seen IS NULL").values()) == 1
    assert sum(counts(make, rows, tmp_path / "any").values()) == 3


def test_labels_of_ten_megabytes(tmp_path: Path) -> None:
    check(plain, texts([*items(100), b"y" * 10_000_000]), "item", tmp_path)
    hostile = texts([*items(100), b"y" * 9_999_999 + b"\xff"])
    (tmp_path / "bad").mkdir()
    check(plain, hostile, "item", tmp_path / "bad")
    (tmp_path / "frame").mkdir()
    check(in_memory, hostile, "item", tmp_path / "frame")


class TestBothWaysAreOne:
    """DuckDB's own reader and the careful one are the same function of the rows that can be read."""

    def rows(self, *last: bytes) -> pa.Table:
        count = 3000
        return people(
            count + len(last),
            texts([*items(count), *last]),
            whole=pa.array(range(count + len(last)), pa.uint64()),
            day=stored([i % 99 for i in range(count + len(last))], pa.date32()),
            at=stored([i % 99 for i in range(count + len(last))], pa.timestamp("ms")),
            zoned=stored([i % 99 for i in range(count + len(last))], pa.timestamp("ms", "UTC")),
            price=decimals([i % 99 for i in range(count + len(last))], 20),
            ratio=pa.array([float(i % 9) for i in range(count + len(last))], pa.float16()),
            length=stored([i % 9 for i in range(count + len(last))], pa.duration("ms")),
            yes=pa.array([i % 2 == 0 for i in range(count + len(last))]),
        )

    @pytest.mark.parametrize("column", ["item", "whole", "day", "at", "price", "ratio", "length", "yes"])
    def test_every_type(self, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = written(self.rows(), tmp_path)
        asked = question(column, items_per_user=5)
        native = all_counts(table(path, user="user"), asked)
        carefully = table(path, user="user")
        monkeypatch.setattr(engine, "_NEEDS_CARE", {carefully.engine.state()})
        assert all_counts(carefully, asked) == native

    @pytest.mark.parametrize("name", WRITABLE)
    @pytest.mark.parametrize("where", ["seen IS NOT NULL", "seen IS NULL"])
    def test_what_holds_other_values(
        self, name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = written(people(3, texts(items(3)), seen=INSIDE[name]), tmp_path)
        asked = question("item", items_per_user=5, where=where)
        native = all_counts(table(path, user="user"), asked)
        carefully = table(path, user="user")
        monkeypatch.setattr(engine, "_NEEDS_CARE", {carefully.engine.state()})
        assert all_counts(carefully, asked) == native

    def test_files_that_hold_moments_in_different_units(self, tmp_path: Path) -> None:
        near, far = stored([0, 5000], pa.timestamp("us")), stored([5, FAR // 10], pa.timestamp("ms"))
        pq.write_table(people(2, near, text=texts([b"a", LATIN])), tmp_path / "part0.parquet")
        pq.write_table(people(2, far, text=texts([b"a", b"b"])), tmp_path / "part1.parquet")
        source = table(str(tmp_path / "part*.parquet"), user="user")
        before = all_counts(source, question("item", items_per_user=5))
        after = all_counts(source, question("item", items_per_user=5, where="text IS NULL OR text <> 'x'"))
        assert before == after
        assert sorted(before.values()) == [1, 2]

    def test_a_footer_that_speaks_of_arrow_schemas_everywhere(self, tmp_path: Path) -> None:
        name = "ARROW:schema"
        rows = people(3, TEXTS["dictionary"](3, LATIN)).append_column(name, pa.array([name] * 3))
        rows = rows.replace_schema_metadata({f"{name}2": f"\x18\x0c{name}\x18"})
        source = table(written(rows, tmp_path), user="user")
        assert sum(all_counts(source, question("item")).values()) == 2
        asked = question(name, where="item IS NULL OR item <> 'x'")
        assert all_counts(source, asked) == {(name,): 3}

    def test_a_file_that_failed_once_is_read_carefully_from_then_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(engine, "_NEEDS_CARE", set())
        source = table(written(self.rows(LATIN), tmp_path), user="user")
        assert all_counts(source, question("whole", where="age < 5"))
        assert set() == engine._NEEDS_CARE, "nothing has looked at the text"
        assert all_counts(source, question("item"))
        assert {source.engine.state()} == engine._NEEDS_CARE

    def test_a_top_is_read_carefully_too(self, tmp_path: Path) -> None:
        source = table(written(self.rows(LATIN), tmp_path), user="user")
        assert top_counts(source, question("item", items_per_user=None), fetch=2) == [
            (("item0",), 1000),
            (("item1",), 1000),
            (("item2",), 1000),
        ]


def lines(kind: str, rows: list[tuple[bytes, bytes]]) -> bytes:
    if kind.startswith("csv"):
        return b"user,item\n" + b"".join(b"%b,%b\n" % row for row in rows)
    return b"".join(b'{"user": "%b", "item": "%b"}\n' % row for row in rows)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "jsonl.gz"])
@pytest.mark.parametrize("bad", [LATIN, b"\xed\xa0\x80"], ids=repr)
@pytest.mark.parametrize("role", ["item", "user"])
def test_bytes_that_are_no_text_in_text_files(kind: str, bad: bytes, role: str, tmp_path: Path) -> None:
    rows = [(b"u%d" % i, b"item%d" % (i % 3)) for i in range(3000)]
    hostile = (b"v", bad) if role == "item" else (bad, b"item0")
    found = []
    for name, content in (("with", [*rows, hostile, *rows]), ("without", [*rows, *rows])):
        path = tmp_path / f"{name}.{kind}"
        raw = lines(kind, content)
        path.write_bytes(gzip.compress(raw, 1) if kind.endswith("gz") else raw)
        found.append(all_counts(table(path, user="user"), question("item", items_per_user=2)))
    assert found[0] == found[1]


class TestColumns:
    """Columns that cannot be told apart, or whose values are equal without being the same."""

    @pytest.mark.parametrize("names", [["user", "item", "item"], ["user", "item", "Item"]], ids=["same", "case"])
    def test_two_columns_of_one_name_in_parquet_are_refused(self, names: list[str], tmp_path: Path) -> None:
        path = written(pa.Table.from_arrays([pa.array(["a"])] * 3, names=names), tmp_path)
        with pytest.raises(ValueError, match="Two columns have the same name"):
            table(path, user="user").columns()

    def test_decimals_beyond_38_digits_are_no_items(self, tmp_path: Path) -> None:
        # DuckDB would read them as floating point, where two of them can be one.
        rows = pa.table({"user": ["a"], "item": pa.array([1], pa.decimal256(76, 0))})
        with pytest.raises(ValueError, match="a column of plain values"):
            all_counts(table(written(rows, tmp_path), user="user"), question("item"))

    @pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT"])
    @pytest.mark.parametrize("name", ["visits", "seen"])
    def test_a_collated_column_of_a_duckdb_file_is_no_user(
        self, collation: str, name: str, tmp_path: Path
    ) -> None:
        source = collated(tmp_path / "rows.duckdb", collation, name)
        with pytest.raises(ValueError, match="collation treats different texts as the same"):
            source.rows(question("item"))

    def test_a_collated_item_is_told_apart_by_its_bytes(self, tmp_path: Path) -> None:
        collated(tmp_path / "rows.duckdb", "NOCASE", "visits")
        source = table(tmp_path / "rows.duckdb", user="item", table="visits")
        assert all_counts(source, question("user")) == {("Bob",): 1, ("bob",): 1}


def collated(path: Path, collation: str, name: str) -> Table:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE TABLE visits ("user" VARCHAR COLLATE {collation}, item VARCHAR)')
        connection.execute("INSERT INTO visits VALUES ('Bob', 'x'), ('bob', 'y')")
        connection.execute('CREATE VIEW seen AS SELECT "user", item FROM visits')
    return table(path, user="user", table=name)
