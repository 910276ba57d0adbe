"""Totals as subjects, from the items of each user on: neighbours are tables with one user more, or another."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.laws.totals import total_law
from unlisted.audit.subject import OpenBits, Pair, Subject
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.mechanisms.totals.total import DistinctTotal, Total, UserTotal
from unlisted.noise.bits import fresh_bits
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

ROOM = Fraction(1, 10**6)
"""The δ at which a total is audited."""

World = tuple[str, ...]
"""The items of each user, a letter each; users in any order."""

TotalOf = Callable[[World], int]


def audited_users(name: str, mechanism: UserTotal) -> Subject:
    """Return the number of users with all small neighbours."""
    return total_subject(name, mechanism, len, mechanism.guarantee())


def audited_distinct(name: str, mechanism: DistinctTotal) -> Subject:
    """Return the number of different items with all small neighbours."""
    return total_subject(name, mechanism, different, mechanism.guarantee())


def different(world: World) -> int:
    """Return how many items users have between them."""
    return len(set().union(*world))


def total_subject(
    name: str, mechanism: Total, total_of: TotalOf, claim: Guarantee, bits: OpenBits = fresh_bits
) -> Subject:
    """Return a total as a subject."""

    def run(world: World) -> int:
        answer = mechanism.release(BoundedTotal(total_of(world), mechanism.shift), bits())
        assert answer.counts is not None
        return int(answer.counts[0])

    def batch(world: World, n: int) -> Counter[int]:
        noisy = total_of(world) + mechanism.law.sample(n, bits())
        return Counter(max(0, one) for one in noisy.tolist())

    def law(world: World) -> OutputLaw:
        return total_law(mechanism, total_of(world))

    return Subject(name, _with_room(claim), lambda: _neighbours(mechanism), run, law, batch)


def _with_room(claim: Guarantee) -> Guarantee:
    """Return a claim with a little δ: a total has none, and no list of noise ends where noise does."""
    direct = claim.direct and EpsilonDelta(claim.direct.epsilon, claim.direct.delta + ROOM)
    return replace(claim, delta=claim.delta + ROOM, direct=direct)


def _neighbours(mechanism: Total) -> Iterable[Pair]:
    """Yield tables of up to two users, and of many, with one more user or with that one replaced."""
    most = mechanism.sensitivity.items or 3
    users = ["".join(items) for n in range(1, most + 1) for items in itertools.combinations("abc", n)]
    apart = "".join(chr(ord("A") + place) for place in range(26))
    rests: list[World] = [(), *((one,) for one in users), (users[0], users[-1]), tuple(apart)]
    for rest in rests:
        for one in users:
            if mechanism.sensitivity.adjacency == "add_remove":
                yield Pair(f"{one} beside {rest}", rest, (*rest, one))
            else:
                yield from (Pair(f"{one} or {two}", (*rest, one), (*rest, two)) for two in users if two > one)
