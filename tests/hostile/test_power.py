"""The harness itself: each planted fault is found, and without a fault nothing is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.hostile.arrow_cells import KINDS
from tests.hostile.cases import Case, hunted
from tests.hostile.cells import Cell, Kind, Leaves
from tests.hostile.faults import FAULTS, Fault, read_as
from tests.hostile.measures import MEASURES
from tests.hostile.neighbours import complaints
from tests.hostile.rows import Pair, Role, Rows
from tests.hostile.sources import FRAMES_AND_FILES, Source, UnwritableError, Workshop
from tests.hostile.workbook_cells import WORKBOOK_CELLS

from unlisted.tables.engines.duckdb import excel
from unlisted.tables.table import Table

TEXT = KINDS["string"]
CALM = Kind(
    "calm", "text", TEXT.typed, TEXT.calm, (Cell("harmless", b"zz", "zz"), Cell("none", None, Leaves.NOTHING))
)


@pytest.fixture
def ask(workshop: Workshop) -> object:
    source = FRAMES_AND_FILES["pyarrow"]
    return lambda rows: source.table(rows, "one chunk", workshop)


def found(
    fault: Fault, ask: object, role: Role, cell: int = 0, measure: str = "histogram", more: int = 1
) -> list[str]:
    pair = Pair(CALM, role, (CALM.hostile[cell],), more=more)
    where = "seen IS NOT NULL" if role == "seen" else None
    return complaints(pair, fault(ask), MEASURES[measure], where)  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("role", ["user", "item", "seen", "spare"])
def test_nothing_is_found_where_nothing_is_wrong(role: Role, measure: str, ask: object) -> None:
    assert found(lambda ask: ask, ask, role, measure=measure) == []


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("raises", "fails with the row only"),
        ("refuses", "is refused with the row"),
        ("refuses aloud", "quotes the hostile row"),
        ("logs", "quotes the hostile row"),
        ("loses another row", "takes away from the counts of others"),
        ("forgets the bound", "of whom each may change 2"),
    ],
)
@pytest.mark.parametrize("measure", ["histogram", "top_histogram", "labels", "stream by events"])
def test_a_planted_fault_is_found(fault: str, complaint: str, measure: str, ask: object) -> None:
    assert any(complaint in what for what in found(FAULTS[fault], ask, "item", measure=measure, more=2))


def test_a_lost_row_shows_where_nobody_is_bounded(ask: object) -> None:
    assert found(FAULTS["loses another row"], ask, "item", measure="top")


def test_a_label_that_was_mended_is_found(ask: object) -> None:
    mended = found(read_as("zz\ufffd".encode()), ask, "item")
    assert any("a label leaves that no row holds" in what for what in mended)


@pytest.mark.parametrize("role", ["user", "seen"])
def test_a_row_that_counts_although_it_is_no_value_is_found(role: Role, ask: object) -> None:
    assert found(lambda ask: ask, ask, role, cell=1) == []
    assert any("is no value" in what for what in found(read_as(b"zz"), ask, role, cell=1))


def test_of_many_cells_the_one_that_is_wrong_is_named(workshop: Workshop) -> None:
    inside = FRAMES_AND_FILES["pyarrow"]

    class Broken(Source):
        def table(self, rows: Rows, layout: str, workshop: Workshop) -> Table:
            if b"zz-bad" in rows.column("item"):
                raise UnwritableError
            if b"zz-worse" in rows.column("item"):
                return FAULTS["raises"](lambda given: inside.table(given, layout, workshop))(rows)
            return inside.table(rows, layout, workshop)

    cells = (*CALM.hostile, Cell("bad", b"zz-bad"), Cell("worse", b"zz-worse"))
    kind = Kind("text", "text", TEXT.typed, TEXT.calm, cells)
    sources = {"broken": Broken("broken", {"text": kind}, inside.layouts, inside.make)}
    case = Case("broken", "one chunk", "text", tuple(cell.name for cell in cells), "item")
    (only,) = hunted(case, sources, workshop)
    assert "cells=('worse',)" in only
    assert "fails with the row only" in only


@pytest.mark.parametrize(
    "cell", ["an error that nobody knows", "a text that is not there", "a kind that nobody knows"]
)
def test_a_reader_that_reads_a_sheet_whole_is_caught(
    cell: str, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    calamine = pytest.importorskip("python_calamine")

    def whole(_: object, file: str, wanted: object = None) -> Iterator[dict[int, Any]]:
        sheet = calamine.load_workbook(file).get_sheet_by_index(0)
        return (dict(enumerate(row)) for row in sheet.iter_rows())

    case = Case("workbook cells", "xlsx", "float", (cell,), "item")
    assert hunted(case, WORKBOOK_CELLS, workshop) == []
    monkeypatch.setattr(excel.Excel, "_rows", whole)
    assert hunted(case, WORKBOOK_CELLS, workshop) != []
