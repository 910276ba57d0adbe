"""From a budget to labels and their counts: a share of ρ for each of three steps, and δ for the labels alone."""

from __future__ import annotations

from fractions import Fraction

from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.partition_selection.find_then_count import FindThenCount
from unlisted.mechanisms.partition_selection.weighted_calibration import RoundsSearch, require_delta
from unlisted.mechanisms.partition_selection.weighted_selection import LabelSelection
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.rounding import round_up

LABELS_SHARE = Fraction(70, 100)
SIZES_SHARE = Fraction(1, 100)
COUNTS_SHARE = 1 - LABELS_SHARE - SIZES_SHARE
"""The parts of ρ that find the labels, look at how many of them users have, and count."""

_DIGITS = 9


def find_then_count_for_budget(
    budget: Budget, weighing: Weighing, *, one_shot: bool = True
) -> Calibrated[FindThenCount]:
    """Return labels and counts inside a budget, and how it is shared.

    A budget in (ε, δ) that is spent at once needs no way through ρ; one paid from an account, which counts ρ,
    should say `one_shot=False`.
    """
    require_delta(budget)
    at_epsilon = budget.epsilon if one_shot else None

    def build(labels: LabelSelection, variance: Fraction) -> FindThenCount:
        sizes, counts = (round_up(variance / share, _DIGITS) for share in (SIZES_SHARE, COUNTS_SHARE))
        return FindThenCount(labels, sizes, counts, at_epsilon=at_epsilon)

    search = RoundsSearch(budget, weighing, "hints", one_shot, LABELS_SHARE)
    found = search.proved(search.best_exponent(), build)
    threshold = f"{float(round_up(Fraction(found.selection.last.threshold, UNIT), 6)):.6g}"
    way = "by ρ" if budget.epsilon is None else "by its exact δ" if one_shot else "by ρ converted"
    labels, sizes, counts = (f"{float(share):.0%}" for share in (LABELS_SHARE, SIZES_SHARE, COUNTS_SHARE))
    shares = f"{labels} of ρ finds labels, {sizes} says how many of them users have, {counts} counts"
    return Calibrated(found, f"{shares}; threshold {threshold} in the last of 3 rounds, {way}")
