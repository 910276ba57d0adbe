"""One hostile field or line in CSV and JSON lines files."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from tests.hostile.cases import QUICKLY, Case, cases, hunted, in_turn
from tests.hostile.sources import Workshop
from tests.hostile.text_cells import LONG_LINES
from tests.hostile.text_sources import TEXT_FILES


@pytest.mark.parametrize("source", TEXT_FILES)
def test_some_of_everything(source: str, workshop: Workshop) -> None:
    kinds = [name for name in TEXT_FILES[source].kinds if name != "long lines"]
    chosen = itertools.islice(in_turn(TEXT_FILES[source], kinds), 0, None, 5)
    assert [what for case in chosen for what in hunted(case, TEXT_FILES, workshop)] == []


@pytest.mark.parametrize(
    ("source", "layout"),
    [(one.name, layout) for one in TEXT_FILES.values() for layout in one.layouts if "," not in layout],
)
def test_texts_as_items(source: str, layout: str, workshop: Workshop) -> None:
    cells = tuple(cell.name for cell in TEXT_FILES[source].kinds["text"].hostile)
    case = Case(source, layout, "text", cells, "item", "top")
    assert hunted(case, TEXT_FILES, workshop) == []


@pytest.mark.parametrize("line", LONG_LINES)
def test_a_line_longer_than_the_reader_reads(line: str, workshop: Workshop) -> None:
    case = Case("json lines", "plain", "long lines", (line,), "spare")
    assert hunted(case, TEXT_FILES, workshop) == []


@QUICKLY
@given(case=cases(TEXT_FILES))
def test_anything_at_all(case: Case, workshop: Workshop) -> None:
    assert hunted(case, TEXT_FILES, workshop) == []
