"""From a budget to a ranking by way of labels: a part of ρ finds the labels, the rest draws among them.

δ is halved between the labels' threshold and the conversion of ρ to ε; no share does noticeably better than half.
"""

from __future__ import annotations

from fractions import Fraction

from unlisted.counts.weights import Weighing
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.mechanisms.partition_selection.weighted_calibration import labels_for_budget
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.convert import rho_cks_down
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.rounding import round_down, round_up, sqrt_down

LABELS_SHARE = Fraction(1, 2)
"""The part of ρ that finds the labels. `bench/utility/top_methods.py` compares others."""

_COUNTS_SHARE = Fraction(1, 2)
_DIGITS = 9


def label_ranking_for_budget(
    budget: Budget, weighing: Weighing, k: int, *, counts: bool = False
) -> Calibrated[LabelRanking]:
    """Return the ranking inside a budget, and how the budget is shared."""
    rho, delta = budget.rho, budget.delta
    if rho is None:
        delta = budget.delta / 2
        rho = rho_cks_down(budget.epsilon or 0, delta)
    labels = labels_for_budget(Budget(rho=rho * LABELS_SHARE, delta=delta), weighing, "weighted")
    left = rho * (1 - LABELS_SHARE)
    law = None
    if counts:
        law = DiscreteGaussian(round_up(k / (2 * left * _COUNTS_SHARE), _DIGITS))
        left *= 1 - _COUNTS_SHARE
    sides = 1 if weighing.adjacency == "add_remove" else 2
    epsilon = round_down(sqrt_down(8 * left / (k * sides**2)), _DIGITS)
    reason = f"a {float(LABELS_SHARE):.0%} share of ρ for the labels, {labels.reason}"
    return Calibrated(LabelRanking(labels.mechanism, k, epsilon, law), reason)
