"""Hostile labels that enough users share, from the rows to the release: they leave as they are, or not at all.

Every kind of question runs to its end on a table with the hostile cells as items, and its answer is written in
every format.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.hostile.arrow_cells import KINDS
from tests.hostile.cells import Cell, Leaves
from tests.hostile.measures import said
from tests.hostile.rows import Pair, Rows
from tests.hostile.sources import FRAMES_AND_FILES, Workshop

import unlisted as ul
from unlisted.release.export import as_csv, as_json, as_parquet
from unlisted.release.text import as_text

BUDGET = ul.Budget(rho=50, delta="1e-6")
USERS = 40
QUESTIONS: dict[str, dict[str, Any]] = {
    "histogram": {"items_per_user": 1},
    "top_histogram": {"items_per_user": 1},
    "top": {"k": 30},
    "labels": {"items_per_user": 1},
}


def crowd(kind: str, cells: tuple[Cell, ...]) -> Rows:
    """So many users of each hostile cell, and of nothing else."""
    rows = [(f"u{at}-{user}", cell.value, "b", "calm") for at, cell in enumerate(cells) for user in range(USERS)]
    return Rows(KINDS[kind], "item", tuple(rows))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("pyarrow", "string"),
        ("parquet", "string"),
        ("parquet", "double"),
        ("pyarrow", "decimal128(38, 18)"),
        ("pyarrow", "date32[day]"),
        ("polars", "uint64"),
    ],
)
def test_labels_leave_as_they_are_or_not_at_all(source: str, kind: str, question: str, workshop: Workshop) -> None:
    cells = tuple(cell for cell in KINDS[kind].hostile if "megabytes" not in cell.name)
    used = FRAMES_AND_FILES[source]
    with workshop.later:
        rows, keywords = used.made(crowd(kind, cells), used.layouts[0], workshop)
        table = ul.table(rows, user="user", **keywords)
        release = getattr(table, question)("item", budget=BUDGET, **QUESTIONS[question]).run()
    labels = {said(row["item"]) for row in release.rows}
    known = [cell for cell in cells if not isinstance(cell.leaves, Leaves) and not cell.too_long]
    unsaid = sum(cell.leaves is Leaves.UNSAID for cell in cells)
    strange = labels - {said(cell.leaves) for cell in known}
    assert len(strange) <= unsaid
    assert labels, "nothing hostile was released, so nothing was shown"
    assert json.loads(as_json(release.as_dict()))
    assert as_csv(release).decode()
    assert as_parquet(release)
    assert as_text(release)
    assert release.receipt()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("role", ["user", "item", "seen", "spare"])
def test_one_hostile_row_and_a_whole_question(role: Any, question: str, workshop: Workshop) -> None:
    """The answer is there; that it is the right one is seen on the counts, elsewhere."""
    kind = KINDS["string"]
    (cell,) = (cell for cell in kind.hostile if cell.name == "Latin-1")
    used = FRAMES_AND_FILES["parquet"]
    with workshop.later:
        rows, _ = used.made(Pair(kind, role, (cell,), users=60).with_villains, "pyarrow", workshop)
        asked = getattr(ul.table(rows, user="user"), question)
        where = "seen <> 'x'" if role == "seen" else None
        release = asked("item", budget=BUDGET, where=where, **QUESTIONS[question]).run()
    assert all("caf" not in said(row["item"]) for row in release.rows)
