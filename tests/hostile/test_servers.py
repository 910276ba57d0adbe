"""One hostile row in PostgreSQL and Spark, and in Ibis tables of both."""

from __future__ import annotations

import itertools

import pytest
from tests.hostile.cases import Case, hunted, in_turn
from tests.hostile.rows import Pair
from tests.hostile.server_sources import POSTGRES, SPARK
from tests.hostile.sources import Workshop


@pytest.mark.parametrize("kind", POSTGRES["postgres"].kinds)
def test_users_of_postgres(kind: str, workshop: Workshop) -> None:
    """Whoever is one person to the database is one user, or the column is refused."""
    cells = tuple(cell.name for cell in POSTGRES["postgres"].kinds[kind].hostile)
    assert hunted(Case("postgres", "table", kind, cells, "user"), POSTGRES, workshop) == []


def test_every_kind_of_postgres_can_be_written(workshop: Workshop) -> None:
    used = POSTGRES["postgres"]
    with workshop.later:
        for kind in used.kinds.values():
            used.made(Pair(kind, "item", ()).without, "table", workshop)


@pytest.mark.parametrize("source", POSTGRES)
def test_some_of_everything_in_postgres(source: str, workshop: Workshop) -> None:
    step = 3 if source == "postgres" else 19
    chosen = itertools.islice(in_turn(POSTGRES[source], roles=("item", "seen", "spare")), 0, None, step)
    assert [what for case in chosen for what in hunted(case, POSTGRES, workshop)] == []


@pytest.mark.parametrize(
    ("kind", "role", "where"),
    [
        ("STRING", "item", None),
        ("STRING", "user", None),
        ("DOUBLE", "seen", "seen > 5"),
        ("any case", "user", None),
        ("DATE", "item", None),
    ],
)
def test_some_of_everything_in_spark(kind: str, role: str, where: str | None, workshop: Workshop) -> None:
    cells = tuple(cell.name for cell in SPARK["spark"].kinds[kind].hostile)
    case = Case("spark", "values", kind, cells, role, "histogram", where)  # type: ignore[arg-type]
    assert hunted(case, SPARK, workshop) == []


@pytest.mark.parametrize(
    ("source", "kind", "cell"),
    [
        ("postgres", "interval", "ten days"),
        ("postgres", "bpchar", "blanks behind"),
        ("postgres", "numeric", "NaN"),
        ("postgres", "date", "minus infinity"),
        ("spark", "STRING", "Latin-1"),
        ("spark", "DOUBLE", "NaN"),
        ("spark", "any case", "cases"),
        ("spark of arrow", "double", "a quiet NaN"),
    ],
)
def test_servers_really_hold_what_is_hostile(source: str, kind: str, cell: str, workshop: Workshop) -> None:
    made = {**POSTGRES, **SPARK}[source]
    case = Case(source, made.layouts[0], kind, (cell,), "item")
    with workshop.later:
        made.made(case.pair(made.kinds[kind]).with_villains, case.layout, workshop)
