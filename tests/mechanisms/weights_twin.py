"""What labels weigh, written down from the definition in exact fractions: the slow twin of every oracle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from unlisted.counts.weights import HEAVIEST, SHARES, Rerouting, even_weight, full_weight

Items = frozenset[str]
Weights = Mapping[str, Fraction]
Crowd = Mapping[Items, int]
"""How many users have exactly these items."""


def weights(crowd: Crowd, rerouting: Rerouting | None = None, spread: int | None = None) -> dict[str, Fraction]:
    """Return the weights before they are rounded."""
    labels = set().union(*crowd) if crowd else set()
    users = [(items, times) for items, times in crowd.items() if items and times]
    full = {i: sum(full_weight(len(items)) * times for items, times in users if i in items) for i in labels}
    if rerouting is None:
        return {i: Fraction(weight) for i, weight in full.items()}
    adaptive = [(items, times) for items, times in users if len(items) <= rerouting.most_items]
    even = {i: sum(even_weight(len(items)) * times for items, times in adaptive if i in items) for i in labels}
    back = {i: part_given_back(even[i], rerouting.enough) for i in labels}
    found = {i: full[i] - even[i] * back[i] for i in labels}
    for items, times in adaptive:
        got = even_weight(len(items)) * sum((back[i] for i in items), Fraction(0))
        for i in items:
            found[i] += times * got / (spread or rerouting.spread)
    return found


def part_given_back(even: int, enough: int) -> Fraction:
    """Return the part of its even weight that a label gives back; the quotient is a floating-point number."""
    known = min(even, HEAVIEST)
    return Fraction(int((known - enough) / known * SHARES), SHARES) if even > enough else Fraction(0)


def even_weights(crowd: Crowd, most_items: int) -> dict[str, int]:
    """Return the weight of each label that may be given back."""
    labels = set().union(*crowd)
    adaptive = [(items, times) for items, times in crowd.items() if len(items) <= most_items]
    return {i: sum(even_weight(len(items)) * times for items, times in adaptive if i in items) for i in labels}


def joined(crowd: Crowd, newcomer: Items) -> dict[Items, int]:
    """Return the crowd with one user more."""
    return {**crowd, newcomer: crowd.get(newcomer, 0) + 1}


def moved(before: Weights, after: Weights, labels: Iterable[str] | None = None) -> Fraction:
    """Return the squared length of the move from one weighing to another, of all labels or of some."""
    which = {*before, *after} if labels is None else labels
    return sum(((after.get(i, Fraction(0)) - before.get(i, Fraction(0))) ** 2 for i in which), Fraction(0))
