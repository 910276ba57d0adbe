"""What is excused is still needed to be: it fails, and with a charged failure that quotes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.hostile.cases import Case, found_by, hunted
from tests.hostile.out_of_reach import EXCUSED, OUT_OF_REACH, is_out_of_reach
from tests.hostile.sources import FRAMES_AND_FILES, Workshop


def excused() -> Iterator[Case]:
    """Every layout, kind and cell on the list, though not each with each."""
    for one in OUT_OF_REACH:
        for layout in one.layouts:
            for at, (kind, cells) in enumerate(one.cells.items()):
                for cell in cells[: None if at == 0 else 1]:
                    yield Case(one.source, layout, kind, (cell,), "seen", "histogram", "seen IS NOT NULL")


def _named(case: Case) -> str:
    return "-".join((case.source, case.layout, case.kind, *case.cells))


@pytest.mark.parametrize("case", list(excused()), ids=_named)
def test_what_is_excused_still_fails(case: Case, workshop: Workshop) -> None:
    (only,) = found_by(case, FRAMES_AND_FILES, workshop) or ["is answered: take it off the list"]
    assert only.startswith(EXCUSED)


def test_nothing_but_its_failure_is_excused(workshop: Workshop) -> None:
    """Beside an excused cell, one that is not is still looked at; and where it is nobody's, nothing is excused."""
    source, kind = "polars scan", "string"
    cells = ("Latin-1", "NULL")
    case = Case(source, "pyarrow", kind, cells, "item")
    assert [is_out_of_reach(source, case.layout, kind, cell) for cell in cells] == [True, False]
    assert hunted(case, FRAMES_AND_FILES, workshop) == []
    assert not is_out_of_reach("parquet", "pyarrow", kind, "Latin-1")
    assert not is_out_of_reach("ibis duckdb", "table", kind, "Latin-1")
    # The same failure under the name of a source that excuses nothing is a finding.
    renamed = {"another": replace(FRAMES_AND_FILES[source], name="another")}
    (found,) = hunted(replace(case, source="another"), renamed, workshop)
    assert EXCUSED in found
    assert "cells=('Latin-1',)" in found
