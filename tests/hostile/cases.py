"""Cases: which source, layout, kind, cells, role and question, chosen by hypothesis or all in turn.

A quick case holds all hostile cells of a kind at once, each with a villain of its own; only if something is wrong
is each looked at by itself. A wide case holds one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from tests.hostile.cells import NULL_WHERE, WHERES, Kind
from tests.hostile.measures import MEASURES
from tests.hostile.neighbours import complaints
from tests.hostile.out_of_reach import EXCUSED, is_out_of_reach
from tests.hostile.rows import PLACES, ROLES, Pair, Place, Role
from tests.hostile.sources import Source, UnwritableError, Workshop

QUICKLY = settings(
    max_examples=12,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=(HealthCheck.function_scoped_fixture, HealthCheck.too_slow),
)
"""A few cases, the same each time. They are small already: to shrink one takes longer than all of them."""


@dataclass(frozen=True)
class Case:
    """One question about one pair of tables. Its repr is the way to see it again."""

    source: str
    layout: str
    kind: str
    cells: tuple[str, ...]
    role: Role
    measure: str = "histogram"
    where: str | None = None
    place: Place = "middle"
    users: int = 7
    more: int = 1

    def pair(self, kind: Kind) -> Pair:
        """Return the two tables."""
        named = {cell.name: cell for cell in kind.hostile}
        return Pair(kind, self.role, tuple(named[name] for name in self.cells), self.place, self.users, self.more)


def found_by(case: Case, sources: Mapping[str, Source], workshop: Workshop) -> list[str]:
    """What is wrong with a case, or `UnwritableError` if its tables cannot be had."""
    source = sources[case.source]
    with workshop.later:
        return complaints(
            case.pair(source.kinds[case.kind]),
            lambda rows: source.table(rows, case.layout, workshop),
            MEASURES[case.measure],
            case.where,
        )


def hunted(case: Case, sources: Mapping[str, Source], workshop: Workshop) -> list[str]:
    """What is wrong with a case, said of each of its cells alone if it is wrong with one alone.

    A source that cannot hold one of the cells is given the others. Cells that are out of reach are asked about
    apart from the rest, and may fail the question.
    """
    beyond = tuple(name for name in case.cells if is_out_of_reach(case.source, case.layout, case.kind, name))
    if not beyond:
        return _hunted(case, sources, workshop)
    rest = tuple(name for name in case.cells if name not in beyond)
    failing = _hunted(replace(case, cells=beyond), sources, workshop)
    others = hunted(replace(case, cells=rest), sources, workshop) if rest else []
    return [*others, *(what for what in failing if EXCUSED not in what)]


def _hunted(case: Case, sources: Mapping[str, Source], workshop: Workshop) -> list[str]:
    try:
        found = found_by(case, sources, workshop)
    except UnwritableError:
        found = None
    if found == [] or (len(case.cells) == 1 and found is None):
        return []
    alone = [replace(case, cells=(name,)) for name in case.cells if len(case.cells) > 1]
    listed = [what for one in alone for what in _hunted(one, sources, workshop)]
    return listed or [f"{case}: {what}" for what in found or ()]


def in_turn(source: Source, kinds: Iterable[str] | None = None, roles: Iterable[Role] = ROLES) -> Iterator[Case]:
    """Each kind in each role, all its cells at once; layouts, measures, predicates and places go round."""
    layouts, measures = itertools.cycle(source.layouts), itertools.cycle(MEASURES)
    places = itertools.cycle(PLACES)
    wheres = {word: itertools.cycle(texts) for word, texts in WHERES.items()}
    for name in kinds or source.kinds:
        kind = source.kinds[name]
        for role in roles:
            where = next(wheres[kind.word]) if role == "seen" else None
            yield Case(
                source.name, next(layouts), name, tuple(cell.name for cell in kind.hostile), role, next(measures),
                where, next(places),
            )  # fmt: skip


@st.composite
def cases(draw: st.DrawFn, sources: Mapping[str, Source]) -> Case:
    """Any case of one cell."""
    source = sources[draw(st.sampled_from(list(sources)))]
    kind = source.kinds[draw(st.sampled_from(list(source.kinds)))]
    role = draw(st.sampled_from(ROLES))
    wheres = (*WHERES[kind.word], NULL_WHERE)
    return Case(
        source=source.name,
        layout=draw(st.sampled_from(source.layouts)),
        kind=kind.name,
        cells=(draw(st.sampled_from([cell.name for cell in kind.hostile])),),
        role=role,
        measure=draw(st.sampled_from(list(MEASURES))),
        where=draw(st.sampled_from(wheres)) if role == "seen" else None,
        place=draw(st.sampled_from(PLACES)),
        users=draw(st.sampled_from((7, 60, 700))),
        more=draw(st.sampled_from((1, 2))),
    )
