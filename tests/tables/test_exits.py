"""Labels are mapped once more where they leave an engine: one that should not have come out is dropped silently.

The guard inside the engine is taken away here, so that NaN and bytes that are no text are counted and come out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.tables.fixtures.asked import SECRET, all_counts, question, top_counts
from tests.tables.fixtures.hostile_values import LATIN, people, texts

import unlisted as ul
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.tables import counting
from unlisted.tables.engines.duckdb import engine, frames
from unlisted.tables.table import Table, table

NAN = float("nan")
ROWS = 900


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that reads whatever it is given."""
    monkeypatch.setattr(engine.DuckDBColumn, "plain", property(lambda self: engine.quoted(self.name)))
    monkeypatch.setattr(frames, "_careful", lambda rows: rows)


@pytest.fixture(params=[("item",), ("item", "other")], ids=["one column", "two columns"])
def source(request: pytest.FixtureRequest, unguarded: None) -> tuple[Table, tuple[str, ...]]:
    """A table of three items and a fourth that nobody can read."""
    numbers = pa.array([[1.0, 2.0, 3.0, NAN][i % 4] for i in range(ROWS)])
    rows = people(ROWS, numbers, other=pa.array(["abcd"[i % 4] for i in range(ROWS)]))
    return table(rows, user="user"), request.param


def test_bytes_that_are_no_text(unguarded: None) -> None:
    # What DuckDB keeps in a table it has looked at; what it brings out at once it has not.
    words = texts([[b"a", b"b", b"c", LATIN][i % 4] for i in range(ROWS)])
    source = table(people(ROWS, words), user="user")
    assert readable(dict(top_counts(source, question("item"), fetch=5)))
    plan = ul.table(people(ROWS, words), user="user").top("item", k=4, budget=ul.Budget(epsilon=1000, delta=1e-3))
    assert len(plan.run()) == 3


def readable(counts: dict[Any, int]) -> bool:
    return set(counts.values()) == {ROWS // 4} and len(counts) == 3


def test_a_histogram(source: tuple[Table, tuple[str, ...]]) -> None:
    rows, items = source
    with counting.count_all(rows, question(*items), cut=2, secret=SECRET) as found:
        assert isinstance(found, BoundedCounts)
        assert len(found) == 3


def test_a_top(source: tuple[Table, tuple[str, ...]]) -> None:
    rows, items = source
    assert readable(dict(top_counts(rows, question(*items), fetch=5)))


def test_labels_that_are_named_by_their_rank(
    source: tuple[Table, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, items = source
    monkeypatch.setattr(counting, "FEW_LABELS", 0)
    with counting.count_all(rows, question(*items), cut=ROWS, secret=SECRET) as found:
        assert isinstance(found, CountProfile)
        four = np.full(4, ROWS // 4)
        assert found.named(np.zeros(0, dtype=np.int64), four, np.arange(4)).null_count == 1


@pytest.mark.parametrize("few", [0, 100_000], ids=["by rank", "all"])
@pytest.mark.parametrize("asked", ["histogram", "labels", "top", "top with counts"])
def test_a_release(
    asked: str, few: int, source: tuple[Table, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, items = source
    monkeypatch.setattr(counting, "FEW_LABELS", few)
    private = ul.table(rows.engine._origin.rows(_all(rows)), user="user")  # type: ignore[attr-defined]
    budget = ul.Budget(epsilon=1000, delta=1e-3)
    plan = {
        "histogram": lambda: private.histogram(list(items), budget=budget, items_per_user=1),
        "labels": lambda: private.labels(list(items), budget=budget, items_per_user=1),
        "top": lambda: private.top(list(items), k=4, budget=budget),
        "top with counts": lambda: private.top(list(items), k=4, budget=budget, counts=True),
    }[asked]()
    assert len(plan.run()) == 3


def _all(rows: Table) -> engine.Opening:
    return engine.Opening(duckdb.connect(), tuple(rows.columns()), Path(), None)


def test_the_guards_are_what_was_taken_away(source: tuple[Table, tuple[str, ...]]) -> None:
    """The check itself: without the mapping at the exit, what nobody can read is there."""
    rows, items = source
    with rows.engine.world(rows.rows(question(*items))) as world:
        found = world.answer(counting.bounded_counts(rows.engine, "user", question(*items), SECRET))
        assert len(found) == 4
    assert readable(all_counts(rows, question(*items)))
