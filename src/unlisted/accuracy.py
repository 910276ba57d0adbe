"""How good an answer will be, known before any data is touched.

The question every user of such a system asks is "how many people must share an item for it to appear?". It has an
answer that depends on the mechanism alone: the chance that noise lifts a count over the threshold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from unlisted.mechanisms.label_counts import CountedLabels
from unlisted.mechanisms.label_optimal import OptimalLabels
from unlisted.mechanisms.label_ranking import LabelRanking
from unlisted.mechanisms.label_round import LabelRound
from unlisted.mechanisms.label_selection import LabelSelection
from unlisted.mechanisms.label_weights import UNIT, full_weight
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.noise.estimate import half_width, lead_survival, survival

Counted = ThresholdHistogram | TopHistogram | TopK
Mechanism = Counted | CountedLabels | OptimalLabels | LabelSelection | LabelRanking

CHANCES = (50, 95, 99)


@dataclass(frozen=True)
class Accuracy:
    """What to expect of an answer.

    `needed[p]` is the count an item needs to appear with a chance of p percent; for answers read from the largest
    counts only, the count it needs *above the first one that was left out* (`above_cut`). `half_width` is half the
    width of a plain 95 % error bar of a count, None where no count is released. Where users of fewer items lift
    them more, `needed` is for users with as many items as the bound allows, and `at_best` for users with one.
    """

    needed: dict[int, int]
    half_width: int | None
    above_cut: bool
    chance: Callable[[int], float]
    at_best: dict[int, int] | None = None

    def curve(self, points: int = 120) -> list[tuple[int, float]]:
        """Return (count, chance to appear) over the range where the chance goes from about 0 to about 1."""
        last = max(2, round(self.needed[50] + 2 * (self.needed[99] - self.needed[50])))
        steps = np.unique(np.linspace(0, last, min(points, last + 1)).round().astype(int))
        return [(int(count), self.chance(int(count))) for count in steps]


def accuracy_of(mechanism: Mechanism) -> Accuracy:
    """Return what to expect of a mechanism's answers."""
    if isinstance(mechanism, CountedLabels):
        return replace(_of_counts(mechanism.histogram), half_width=None)
    if isinstance(mechanism, OptimalLabels):
        return _of_coins(mechanism)
    if isinstance(mechanism, LabelSelection | LabelRanking):
        return _of_weights(mechanism)
    return _of_counts(mechanism)


def _of_counts(mechanism: Counted) -> Accuracy:
    chance = _chance(mechanism)
    law = mechanism.counts_law if isinstance(mechanism, TopK) else mechanism.law
    above_cut = (
        mechanism.ranking.fetched is not None
        if isinstance(mechanism, TopK)
        else isinstance(mechanism, TopHistogram)
    )
    return Accuracy(_all_needed(chance), None if law is None else half_width(law), above_cut, chance)


def _of_coins(mechanism: OptimalLabels) -> Accuracy:
    """Return what to expect of labels whose chances are listed."""
    needed = {percent: mechanism.least(Fraction(percent, 100)) for percent in CHANCES}
    return Accuracy(needed, None, above_cut=False, chance=lambda count: float(mechanism.chance(count)))


def _of_weights(mechanism: LabelSelection | LabelRanking) -> Accuracy:
    """Return what to expect of labels that are weighed: the last round decides about those in doubt."""
    ranking = mechanism if isinstance(mechanism, LabelRanking) else None
    selection = mechanism.selection if isinstance(mechanism, LabelRanking) else mechanism
    law = None if ranking is None else ranking.counts_law
    chance = _chance_of_users(selection.last, selection.last.weighing.items)
    return Accuracy(
        needed=_all_needed(chance),
        half_width=None if law is None else half_width(law),
        above_cut=False,
        chance=chance,
        at_best=_all_needed(_chance_of_users(selection.last, 1)),
    )


def _chance_of_users(last: LabelRound, items: int) -> Callable[[int], float]:
    """Return count -> chance to appear, for a label of users who have so many items each."""
    weight = full_weight(items) / UNIT
    return lambda count: last.chance(count * weight)


def _all_needed(chance: Callable[[int], float]) -> dict[int, int]:
    return {percent: _needed(chance, percent / 100) for percent in CHANCES}


def _chance(mechanism: Counted) -> Callable[[int], float]:
    """Return count -> chance to appear, for a single item and nobody else near the top."""
    if isinstance(mechanism, TopK):
        rate = float(mechanism.epsilon) / mechanism.ranking.sensitivity.count
        bottom = float(mechanism.threshold)
        return lambda count: 1 / (1 + math.exp(-max(-700.0, min(700.0, rate * (count - bottom)))))
    tail = lead_survival if isinstance(mechanism, TopHistogram) else survival

    def chance(count: int) -> float:
        return float(tail(mechanism.law, np.array([mechanism.threshold - count + 1]))[0])

    return chance


def _needed(chance: Callable[[int], float], wanted: float) -> int:
    low, high = 0, 1
    while chance(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chance(middle) < wanted else (low, middle)
    return high
