"""Two answers beside each other: which items differ by more than noise, with intervals that hold for all at once.

Everything here is computed from two releases, so it costs nothing. An item is compared if both show it. Each count
gets an interval that fails with a chance of at most 5 % / 2m, m being how many items are compared, given that it
was shown; so all 2m hold together 95 % of the time, and a difference lies between the ends of the two. That stays
true for whichever items one then looks at: the largest differences, or those that are called significant.

Counts over a threshold are flattered by their noise; the interval of such a count is that of `noise/intervals.py`,
given that it was shown, at the smaller chance. Noise that ends is never further out than where it ends. Counts
with noise of their own, drawn after the labels, need no such care. All are of what the releases count: bounded
counts, or scaled ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.intervals import Whole, given_shown
from unlisted.noise.law import Law
from unlisted.release.release import Release, printable

CONFIDENCE = 0.95
_NOISE = re.compile(r"^discrete (Laplace|Gaussian), scale ([0-9.e+-]+)")
_LOWERED = re.compile(r"threshold 1 lower for ([0-9.]+)% of labels")
_AFTERWARDS = (
    *("find_then_count", "find_then_count_with_totals", "find_then_sum"),
    *("found_top_k", "label_ranking", "top_k"),
)
"""Mechanisms whose counts have Gaussian noise that was drawn when the labels stood."""


@dataclass(frozen=True)
class Difference:
    """An item in both answers: its two counts, the second less the first, and from where to where that may be."""

    item: tuple[Any, ...]
    before: int
    after: int
    low: int
    high: int

    @property
    def difference(self) -> int:
        """The second count less the first."""
        return self.after - self.before

    def __str__(self) -> str:
        name = " · ".join(map(printable, self.item))
        return f"{name}: {self.difference:+,}, from {self.low:+,} to {self.high:+,}"

    @property
    def is_significant(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, repr=False)
class Comparison:
    """Two releases, item by item; the largest differences first.

    By how much the values differ that one release alone shows nobody can say: in the other the count was held
    back, or is 0.

    Args:
        items: the columns that name an item.
        differences: of the items that both show.
        only_before: the items that the first release alone shows.
        only_after: the items that the second one alone shows.

    Examples:
        >>> table = ul.table(searches(), user="user")
        >>> phones, desks = (
        ...     table.histogram("query", epsilon=1, where=f"device = '{device}'").run()
        ...     for device in ("phone", "desktop")
        ... )
        >>> found = ul.compare(phones, desks)
        >>> found.items, len(found.differences) > 0
        (('query',), True)
    """

    items: tuple[str, ...]
    differences: tuple[Difference, ...]
    only_before: tuple[tuple[Any, ...], ...]
    only_after: tuple[tuple[Any, ...], ...]

    @property
    def significant(self) -> tuple[Difference, ...]:
        """The items whose difference is more than noise, all of them together 95 % of the time."""
        return tuple(one for one in self.differences if one.is_significant)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The compared items as a list of dicts."""
        return [
            {
                **dict(zip(self.items, one.item, strict=True)),
                "before": one.before,
                "after": one.after,
                "difference": one.difference,
                "low": one.low,
                "high": one.high,
                "significant": one.is_significant,
            }
            for one in self.differences
        ]

    def __repr__(self) -> str:
        told = [
            f"{len(self.differences):,} items in both answers, {len(self.significant):,} of which differ by more "
            f"than noise; {len(self.only_before):,} in the first alone, {len(self.only_after):,} in the second.",
            *(f"  {one}" for one in self.significant),
            "The intervals hold for all items together, 95 % of the time.",
        ]
        return "\n".join(told)


def compare(before: Release, after: Release) -> Comparison:
    """Compare two releases with counts, such as those of two months, at no cost.

    Args:
        before: the first release.
        after: the second, of the same items, counted in the same way.

    Examples:
        >>> budget = ul.Budget(epsilon=1, delta=1e-8)
        >>> june = ul.counts(["soup", "salad"], [900, 800], items_per_user=1).histogram(budget=budget).run()
        >>> july = ul.counts(["soup", "salad"], [300, 810], items_per_user=1).histogram(budget=budget).run()
        >>> [one.item for one in ul.compare(june, july).significant]
        [('soup',)]
    """
    items = _same_items(before, after)
    counts = [_counts_of(one, items) for one in (before, after)]
    both = [item for item in counts[0] if item in counts[1]]
    (lows, highs), (others_low, others_high) = (
        _intervals(release, [found[item] for item in both], 1 - CONFIDENCE)
        for release, found in zip((before, after), counts, strict=True)
    )
    least, most = others_low - highs, others_high - lows
    found = [
        Difference(item, counts[0][item], counts[1][item], int(least[at]), int(most[at]))
        for at, item in enumerate(both)
    ]
    return Comparison(
        items,
        tuple(sorted(found, key=lambda one: -abs(one.difference))),
        tuple(item for item in counts[0] if item not in counts[1]),
        tuple(item for item in counts[1] if item not in counts[0]),
    )


def _same_items(before: Release, after: Release) -> tuple[str, ...]:
    """Return the item columns, or say why the two cannot be compared."""
    for name, release in (("before", before), ("after", after)):
        if not isinstance(release, Release):
            raise InvalidArgumentError(name, type(release).__name__, "a release, which `plan.run()` returns")
        if "count" not in release.table.column_names or release.is_total:
            hint = "Ask for a histogram, or for a top with counts=True."
            raise InvalidArgumentError(name, release.plan.get("question"), "an answer with counts of items", hint)
    items = before.item_names
    others = after.item_names
    if items != others:
        raise InvalidArgumentError("after", ", ".join(others), f"a release of {', '.join(items)}")
    for bound in ("count", "rows_per_item"):
        if before.plan.get(bound) != after.plan.get(bound):
            hint = "Otherwise the two count different things."
            raise InvalidArgumentError("after", after.plan.get(bound), f"asked with the same {bound}", hint)
    return items


def _counts_of(release: Release, items: tuple[str, ...]) -> dict[tuple[Any, ...], int]:
    return {tuple(row[name] for name in items): row["count"] for row in release.rows}


def _intervals(release: Release, shown: list[int], outside: float) -> tuple[Whole, Whole]:
    """Return intervals of so many counts, all of which hold but for half of `outside` together."""
    counts = np.array(shown, dtype=np.int64)
    surprising = outside / (4 * max(1, len(shown)))
    plan = release.plan
    if plan.get("mechanism") in _AFTERWARDS:
        return _plain(release, counts, surprising)
    if plan.get("mechanism") == "threshold_histogram":
        law = _law(plan)
        lowered = _LOWERED.search(plan["noise"])
        share = float(lowered[1]) / 100 if lowered else 0.0
        return given_shown(law, plan["threshold"], counts, lowered=share, surprising=surprising)
    if plan.get("mechanism") == "truncated_histogram":
        # It ends at the threshold, or before.
        return np.maximum(counts - plan["threshold"], 0), counts + plan["threshold"]
    allowed = "one whose intervals are known at any level"
    raise InvalidArgumentError("release", plan.get("mechanism"), allowed, "Ask for histograms, and compare those.")


def _plain(release: Release, counts: Whole, surprising: float) -> tuple[Whole, Whole]:
    """Widen 95 % intervals of Gaussian noise; a whole number is never nearer than a half."""
    widths = [row["high"] - row["count"] for row in release.rows]
    half = max(widths, default=0) + 1
    factor = NormalDist().inv_cdf(1 - surprising) / NormalDist().inv_cdf(0.975)
    wide = math.ceil(half * factor)
    return np.maximum(counts - wide, 0), counts + wide


def _law(plan: Mapping[str, Any]) -> Law:
    """Return the noise that a plan names; its scale was written with six digits."""
    written = _NOISE.match(plan["noise"])
    if written is None:
        raise InvalidArgumentError("release", plan["noise"], "one whose plan names its noise")
    scale = Fraction(written[2])
    return DiscreteLaplace(scale) if written[1] == "Laplace" else DiscreteGaussian(scale**2)
