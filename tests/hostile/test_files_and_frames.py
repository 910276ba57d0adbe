"""One hostile row in Parquet and DuckDB files and in data frames."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from tests.hostile.cases import QUICKLY, Case, cases, found_by, hunted, in_turn
from tests.hostile.object_cells import OBJECTS
from tests.hostile.parquet_layouts import LAYOUTS
from tests.hostile.rows import Pair, Role
from tests.hostile.server_sources import DATABASES
from tests.hostile.sources import FRAMES_AND_FILES, UnwritableError, Workshop

SOURCES = {**FRAMES_AND_FILES, **DATABASES, **OBJECTS}

CORE = ("string", "dictionary of string", "double", "uint64", "timestamp[us]")
EVERY = {"parquet": 11, "pyarrow": 11, "duckdb sql": 7, "sqlite": 2, "pandas objects": 5}
"""The quick run takes so many-th of all kinds in all roles; a number that divides none of what goes round."""


@pytest.mark.parametrize("source", SOURCES)
def test_some_of_everything(source: str, workshop: Workshop) -> None:
    chosen = itertools.islice(in_turn(SOURCES[source]), 1, None, EVERY.get(source, 23))
    assert [what for case in chosen for what in hunted(case, SOURCES, workshop)] == []


@pytest.mark.parametrize("kind", CORE)
@pytest.mark.parametrize("source", ["parquet", "pyarrow", "polars"])
def test_the_kinds_that_matter_most_as_items(source: str, kind: str, workshop: Workshop) -> None:
    cells = tuple(cell.name for cell in SOURCES[source].kinds[kind].hostile)
    case = Case(source, SOURCES[source].layouts[0], kind, cells, "item")
    assert hunted(case, SOURCES, workshop) == []


@pytest.mark.parametrize(("role", "where"), [("item", None), ("user", None), ("seen", "seen IS NOT NULL")])
def test_an_error_that_cannot_be_said_in_python(role: Role, where: str | None, workshop: Workshop) -> None:
    """DuckDB quotes the JSON that it could not read; if that is no UTF-8, its error is another kind of error."""
    case = Case("parquet", "pyarrow", "json", ("no text",), role, "histogram", where, more=2)
    assert hunted(case, SOURCES, workshop) == []


@pytest.mark.parametrize(("kind", "cell"), [("string", "Latin-1"), ("double", "a quiet NaN")])
def test_every_layout_of_a_parquet_file(kind: str, cell: str, workshop: Workshop) -> None:
    """Every other layout each, in turn as item, user and what a predicate reads."""
    found, unwritable = [], 0
    turns = itertools.cycle([("item", None), ("user", None), ("seen", "seen IS NOT NULL")])
    for layout, (role, where) in zip(list(LAYOUTS)[kind == "double" :: 2], turns, strict=False):
        case = Case("parquet", layout, kind, (cell,), role, "histogram", where)  # type: ignore[arg-type]
        try:
            found += [f"{case}: {what}" for what in found_by(case, SOURCES, workshop)]
        except UnwritableError:
            unwritable += 1
    assert found == []
    assert unwritable < 15, "most layouts can be written"


@QUICKLY
@given(case=cases(SOURCES))
def test_anything_at_all(case: Case, workshop: Workshop) -> None:
    assert hunted(case, SOURCES, workshop) == []


@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_can_be_written(source: str, workshop: Workshop) -> None:
    """What cannot be written with hostile rows can be written without: the kind itself is there."""
    used = SOURCES[source]
    with workshop.later:
        for kind in used.kinds.values():
            used.made(Pair(kind, "item", ()).without, used.layouts[0], workshop)


CARRIED = [
    ("parquet", "string", "Latin-1"),
    ("parquet", "double", "a signalling NaN"),
    ("pyarrow", "string_view", "a lone surrogate"),
    ("pyarrow", "decimal256(76, 0)", "all nines"),
    ("polars", "string", "Latin-1"),
    ("polars", "double", "a negative NaN"),
    ("polars scan", "string", "Latin-1"),
    ("pandas", "string", "Latin-1"),
    ("pandas", "double", "a quiet NaN"),
    ("pandas objects", "objects", "an object that raises"),
    ("pandas objects", "categories", "Latin-1, escaped"),
    ("duckdb", "string", "Latin-1"),
    ("duckdb", "double", "a quiet NaN"),
    ("duckdb sql", "DATE", "infinity"),
    ("duckdb sql", "HUGEINT", "the most"),
    ("sqlite", "TEXT", "Latin-1"),
    ("sqlite", "INTEGER", "a blob"),
    ("ibis duckdb", "double", "a quiet NaN"),
    ("ibis polars", "double", "a quiet NaN"),
]


@pytest.mark.parametrize(("source", "kind", "cell"), CARRIED)
def test_sources_really_hold_what_is_hostile(source: str, kind: str, cell: str, workshop: Workshop) -> None:
    """A case whose table cannot be written shows nothing, so it must not be every case."""
    case = Case(source, SOURCES[source].layouts[0], kind, (cell,), "item")
    SOURCES[source].made(case.pair(SOURCES[source].kinds[kind]).with_villains, case.layout, workshop)
