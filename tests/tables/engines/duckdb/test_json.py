"""JSON arrays: written out as lines, element by element, whatever is in them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.json import as_lines
from unlisted.tables.table import table

ROWS = [{"user": n, "item": item} for n, item in enumerate(["a", "a", 'x,]}"[{', "é\n\\", "tea\\"])]
COUNTS = {("a",): 2, ('x,]}"[{',): 1, ("é\n\\",): 1, ("tea\\",): 1}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=3), inside, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", ["rows.json", "rows.json.gz"])
def test_an_array_is_a_table(tmp_path: Path, indent: int | None, encoding: str, name: str) -> None:
    content = json.dumps(ROWS, indent=indent, ensure_ascii=False).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    source = table(tmp_path / name, user="user", encoding=encoding)
    assert list(source.columns()) == ["user", "item"]
    assert all_counts(source, question("item")) == COUNTS


@given(st.lists(VALUES, max_size=4), st.sampled_from([None, 1]), st.integers(1, 9))
def test_each_element_has_a_line(rows: list[Any], indent: int | None, size: int) -> None:
    """In pieces of any size, and laid out in any way."""
    content = json.dumps(rows, indent=indent).encode()
    pieces = [content[at : at + size] for at in range(0, len(content), size)]
    lines = b"".join(as_lines(pieces)).splitlines()
    assert [json.loads(line) for line in lines if line.strip()] == rows


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        ('[{"user": 1, "item": "x"}, 5, null, "y", [1], {"user": 2, "item": "x"}]', {("x",): 2}),
        ('[{"user": 1, "item": "x"},\n{"user": 2, "item": "bro\nken"},\n{"user": 3, "item": "x"}]', {("x",): 2}),
        ('[{"user": 1, "item": "x"}\n{"user": 2, "item": "x"}', {("x",): 2}),
        ('[1, 2]\n{"user": 1, "item": "x"}\n{"user": 2, "item": "x"}\n', {("x",): 2}),
        ('["open\n{"user": 1, "item": "x"}\n{"user": 2, "item": "x"}\n', {("x",): 2}),
        ("[]", {}),
        ("[", {}),
    ],
)
def test_what_is_wrong_with_an_element_is_its_own(tmp_path: Path, content: str, counts: dict[Any, int]) -> None:
    (tmp_path / "rows.json").write_text(content)
    source = table(tmp_path / "rows.json", user="user", types={"user": "int", "item": "text"})
    assert all_counts(source, question("item")) == counts


def test_only_a_json_file_may_be_an_array(tmp_path: Path) -> None:
    """In a file of lines the first one may be anything, and must not decide what the others are."""
    (tmp_path / "rows.jsonl").write_text('[\n{"user": 1, "item": "x"},\n{"user": 2, "item": "x"}\n')
    source = table(tmp_path / "rows.jsonl", user="user", types={"user": "int", "item": "text"})
    assert all_counts(source, question("item")) == {("x",): 1}


def test_what_begins_with_no_object_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{\n  "rows": [\n    {"user": 1, "item": "x"}\n  ]\n}\n')
    with pytest.raises(InvalidArgumentError, match="one object a line or an array of them"):
        table(tmp_path / "rows.json", user="user").columns()
