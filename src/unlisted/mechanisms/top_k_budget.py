"""From a budget to a ranking: the lowest threshold for ⊥, by whichever way of adding up allows it.

Two ways. *Added up*: each of the k draws gets ε/k and the whole δ goes to the threshold. *Converted*: draws cost
ε₀²/8 of ρ each, and δ is shared between the threshold and the conversion of ρ to ε; the best share is searched.
With counts, half of ρ goes to the ranking and half to the counts' noise (`counts_share`), and only the second
way is open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.convert import rho_cks_down
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, exact
from unlisted.privacy.rounding import round_down, round_up, sqrt_down
from unlisted.privacy.search import lowest_point

_DIGITS = 9


def top_k_for_budget(
    budget: Budget, ranking: Ranking, *, counts: bool = False, counts_share: Number = Fraction(1, 2)
) -> Calibrated[TopK]:
    """Return the ranking with the lowest threshold inside a budget, and why it is this one."""
    share = exact("counts_share", counts_share)
    if not 0 < share < 1:
        raise InvalidArgumentError("counts_share", counts_share, "above 0 and below 1")
    found = sorted(_ways(budget, ranking, share if counts else Fraction(0)), key=lambda named: named[1].threshold)
    (way, best), others = found[0], found[1:]
    reason = f"Draws {way} have the lowest threshold, {_said(best.threshold)}"
    against = ", ".join(f"{_said(one.threshold)} {other}" for other, one in others)
    return Calibrated(best, f"{reason}; against {against}." if against else f"{reason}.")


def _ways(budget: Budget, ranking: Ranking, share: Fraction) -> Iterable[tuple[str, TopK]]:
    if budget.rho is not None:
        yield "by ρ", _with_rho(budget.rho, budget.delta, ranking, share)
        return
    epsilon = budget.epsilon or Fraction(0)
    if share == 0:
        each = epsilon / (ranking.most_draws * ranking.sensitivity.sides)
        yield "by ε added up", TopK.at(ranking, epsilon=each, delta=budget.delta)

    def split(y: float) -> Fraction:
        return budget.delta * Fraction(1 / (1 + math.exp(-y))).limit_denominator(10**6)

    def threshold(y: float) -> float:
        conversion = split(y)
        ranked = _with_rho(rho_cks_down(epsilon, conversion), budget.delta - conversion, ranking, share)
        return float(ranked.threshold)

    conversion = split(lowest_point(threshold, -4.0, 6.0, steps=18))
    rho = rho_cks_down(epsilon, conversion)
    yield "by ρ converted", _with_rho(rho, budget.delta - conversion, ranking, share)


def _with_rho(rho: Fraction, delta: Fraction, ranking: Ranking, share: Fraction) -> TopK:
    """Spend ρ on the draws, less the share that the winners' counts get."""
    sensitivity = ranking.sensitivity
    squared = 8 * rho * (1 - share) / (ranking.most_draws * sensitivity.sides**2)
    epsilon = round_down(sqrt_down(squared), _DIGITS)
    law = None
    if share:
        moved = sensitivity.coordinates_within(ranking.k)
        law = DiscreteGaussian(round_up(moved * sensitivity.count**2 / (2 * rho * share), _DIGITS))
    return TopK.at(ranking, epsilon=epsilon, delta=delta, counts_law=law)


def _said(threshold: Fraction) -> str:
    """Write a threshold as a plan does, with six digits and never as lower than it is."""
    return f"{float(round_up(threshold, 6)):.6g}"
