"""Lines that are too long are dropped wherever they stand, and the rest of the file is read."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tables.fixtures.asked import all_counts, question

from unlisted.tables.engines.duckdb.json import LONGEST_LINE
from unlisted.tables.engines.duckdb.text import without_long_lines
from unlisted.tables.table import table

ROWS = 300
COUNTS = {(f"item{i}",): ROWS // 3 for i in range(3)}
PLACES = ["first", "middle", "last", "last without a line break"]


def json_line(user: int, item: bytes) -> bytes:
    return b'{"user": "u%d", "item": "%b"}\n' % (user, item)


def csv_line(user: int, item: bytes) -> bytes:
    return b"u%d,%b\n" % (user, item)


def file_with(path: Path, header: bytes, good: list[bytes], long: bytes, place: str) -> Path:
    at = {"first": 0, "middle": len(good) // 2}.get(place, len(good))
    content = header + b"".join([*good[:at], long, *good[at:]])
    if place.endswith("line break"):
        content = content.rstrip(b"\n")
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


def counted(path: Path, **how: Any) -> dict[Any, int]:
    return all_counts(table(path, user="user", **how), question("item", max_label_bytes=2**40))


@pytest.mark.parametrize(
    ("place", "size"),
    [*((place, 2 * LONGEST_LINE + 4096) for place in PLACES), ("middle", LONGEST_LINE), ("middle", 60_000_000)],
)
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.ndjson.gz"])
def test_a_long_line_of_json_is_dropped(place: str, name: str, size: int, tmp_path: Path) -> None:
    good = [json_line(i, b"item%d" % (i % 3)) for i in range(ROWS)]
    path = file_with(tmp_path / name, b"", good, json_line(ROWS, b"y" * size), place)
    # The keys of the first line are the columns, and this one may be too long to be looked at.
    assert counted(path, types={"user": "text", "item": "text"}) == COUNTS


def test_the_longest_line_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    good = [json_line(i, b"item%d" % (i % 3)) for i in range(ROWS)]
    room = LONGEST_LINE - len(json_line(ROWS, b"").rstrip(b"\n"))
    exactly = file_with(tmp_path / "a.jsonl", b"", good, json_line(ROWS, b"y" * room), "middle")
    assert counted(exactly) == COUNTS | {("y" * room,): 1}
    more = file_with(tmp_path / "b.jsonl", b"", good, json_line(ROWS, b"y" * (room + 1)), "middle")
    assert counted(more) == COUNTS


@pytest.mark.parametrize(
    "garbage", [b"[" * 20_000_000, b'"' * 20_000_001, b"\x00" * 20_000_000], ids=["brackets", "quotes", "NULs"]
)
def test_whatever_stands_in_it(garbage: bytes, tmp_path: Path) -> None:
    good = [json_line(i, b"item%d" % (i % 3)) for i in range(ROWS)]
    assert counted(file_with(tmp_path / "rows.jsonl", b"", good, garbage + b"\n", "middle")) == COUNTS


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
@pytest.mark.parametrize("types", [None, {"*": "line"}], ids=["quoted", "by line"])
def test_a_long_row_of_csv_is_dropped(place: str, name: str, types: Any, tmp_path: Path) -> None:
    good = [csv_line(i, b"item%d" % (i % 3)) for i in range(ROWS)]
    path = file_with(tmp_path / name, b"user,item\n", good, csv_line(ROWS, b"y" * 40_000_000), place)
    assert counted(path, types=types) == COUNTS


@pytest.mark.parametrize("size", [2_097_000, 2_097_160, 33_000_000])
def test_a_row_of_csv_is_read_or_not_wherever_it_stands(size: int, tmp_path: Path) -> None:
    """Else the rows before it would decide, which are other people's."""
    good = [csv_line(i, b"item%d" % (i % 3)) for i in range(ROWS)]
    padding = [csv_line(ROWS + 1, b"item0" + b" " * 100_000)] * 400
    found = []
    for before in (0, 300, 320, 400):
        path = tmp_path / f"{before}.csv"
        content = [*padding[:before], csv_line(ROWS, b"y" * size), *padding[before:], *good]
        path.write_bytes(b"user,item\n" + b"".join(content))
        kept = counted(path)
        assert {label: n for label, n in kept.items() if label in COUNTS} == COUNTS
        found.append(any(label[0].startswith("y") for label in kept))
    assert len(set(found)) == 1


@pytest.mark.parametrize(
    "long", [b'x,"' + b"y" * 40_000_000 + b"\n", b'"' * 40_000_001 + b"\n"], ids=["open", "quotes"]
)
def test_an_unclosed_quote_on_a_long_line_raises_nothing(long: bytes, tmp_path: Path) -> None:
    good = [csv_line(i, b"item%d" % (i % 3)) for i in range(ROWS)]
    before = file_with(tmp_path / "rows.csv", b"user,item\n", good, long, "last")
    assert {label: n for label, n in counted(before).items() if label in COUNTS} == COUNTS
    by_line = file_with(tmp_path / "rows.csv", b"user,item\n", good, long, "first")
    assert counted(by_line, types={"*": "line"}) == COUNTS


LINES = st.lists(st.integers(0, 12).map(lambda size: b"x" * size), max_size=12)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, st.booleans(), st.integers(1, 8), st.booleans())
def test_the_copy_is_the_file_without_its_long_lines(
    tmp_path: Path, lines: list[bytes], ends: bool, longest: int, packed: bool
) -> None:
    content = b"\n".join(lines) + (b"\n" if ends else b"")
    folder = tmp_path / "copies"
    folder.mkdir(exist_ok=True)
    path = tmp_path / ("rows.jsonl.gz" if packed else "rows.jsonl")
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    found = Path(without_long_lines(str(path), folder, longest))
    left = gzip.decompress(found.read_bytes()) if packed else found.read_bytes()
    short = [line for line in content.split(b"\n") if len(line) <= longest]
    assert [line for line in left.split(b"\n") if line] == [line for line in short if line]
    is_long = len(short) < len(content.split(b"\n"))
    assert (found != path) == is_long, "a file is copied only if it must be"


def test_memory_stays_bounded(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"y" * 2**20)
        file.write(b"\n" + json_line(1, b"item"))
    tracemalloc.start()
    try:
        without_long_lines(str(path), tmp_path, LONGEST_LINE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3 * LONGEST_LINE
