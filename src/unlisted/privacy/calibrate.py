"""From a budget to the parameters of a mechanism: the lowest threshold, and for it the least noise.

Nothing here knows a mechanism's formulas. A mechanism prices itself (`price`: ρ and perhaps ε of the common
outcomes; `mu_squared` of them; `failure`: δ, that of the failure event), and calibration is a search over (scale
of noise, threshold) against those functions. With a budget in (ρ, δ) the scale follows from ρ and the threshold
from δ; so with (μ², δ). With a budget in (ε, δ) the total δ has two uses, the threshold and the conversion to ε of
what the budget's account adds up; how it is best shared depends on everything, so it is searched (a mechanism that
knows its own δ at ε needs no such sharing, and is searched for by `one_shot.py`):

1. some ways to share δ give a first threshold; one far above another law's is not pursued;
2. a threshold one lower is possible iff for some scale `failure` + conversion stays within δ; this sum falls and
   then rises with the scale, so its lowest point decides; repeat while it is possible;
3. at the lowest threshold, the smallest scale that still fits is the least noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar, cast, runtime_checkable

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.accounting import Priced
from unlisted.privacy.convert import rho_cks_down
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.one_shot import Searched, lowest
from unlisted.privacy.rounding import round_up
from unlisted.privacy.search import lowest_point, smallest

_SHARES = (Fraction(65, 100), Fraction(50, 100), Fraction(80, 100))
_SHARES_DIFFER = Fraction(21, 20)
_HOPELESS = Fraction(11, 10)
_SCALE_DIGITS = 7
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -7.0, 55.0


class SelfPriced(Priced, Protocol):
    """A mechanism whose ρ the noise sets, and whose δ, the failure event's, the threshold sets."""

    @property
    def lowest_threshold(self) -> int:
        """The smallest threshold that makes sense."""
        ...

    def failure(self) -> Fraction:
        """Return the probability of the failure event; it falls as the threshold grows."""
        ...


@runtime_checkable
class KnowsDelta(Protocol):
    """A mechanism that may also know its δ as a whole: what is moved or what is new, not one plus the other."""

    @property
    def knows_delta(self) -> bool:
        """Whether it does, with the noise it has."""
        ...

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ at which the mechanism is (ε, δ)-DP."""
        ...

    def delta_about(self, epsilon: float) -> float:
        """Return about that δ, to find parameters with."""
        ...

    def failure_about(self) -> float:
        """Return about the probability of the failure event, to find parameters with."""
        ...


M = TypeVar("M", bound=SelfPriced)
Mechanism = TypeVar("Mechanism")


@dataclass(frozen=True)
class Family(Generic[M]):
    """A kind of noise: `build(scale, threshold)` makes the mechanism, `spread(scale)` says how noisy it is."""

    name: str
    build: Callable[[Fraction, int], M]
    spread: Callable[[Fraction], float]


@dataclass(frozen=True)
class Calibrated(Generic[Mechanism]):
    """A mechanism with the reason why it is this one."""

    mechanism: Mechanism
    reason: str


@dataclass(frozen=True)
class _Candidate(Generic[M]):
    mechanism: M
    threshold: int
    spread: float
    name: str
    way: str


def calibrate(budget: Budget, families: Sequence[Family[M]]) -> Calibrated[M]:
    """Return the mechanism with the lowest threshold (then the least noise) that stays inside the budget."""
    found: list[_Candidate[M]] = []
    ways = (
        ("by ρ", _by_rho),
        ("by μ²", _by_mu_squared),
        ("by ε added up", _directly),
        ("by its exact δ", _exactly),
        (f"by {budget.accounting.symbol} converted", _by_conversion),
    )
    for way, settle in ways:
        for family in families:
            settled = settle(budget, family, min((one.threshold for one in found), default=None))
            if settled is not None:
                scale, threshold = settled
                mechanism = family.build(scale, threshold)
                found.append(_Candidate(mechanism, threshold, family.spread(scale), family.name, way))
    found.sort(key=lambda one: (one.threshold, one.spread))
    best = found[0]
    others = ", ".join(f"{one.threshold} with {one.name} ({one.way})" for one in found[1:])
    reason = f"{best.name} ({best.way}) has the lowest threshold, {best.threshold}"
    return Calibrated(best.mechanism, f"{reason}; against {others}." if others else f"{reason}.")


def _by_rho(budget: Budget, family: Family[M], _best: int | None) -> tuple[Fraction, int] | None:
    if budget.rho is None:
        return None
    limit = budget.rho
    scale = _smallest_scale(family, lambda mechanism: mechanism.price().rho <= limit)
    return scale, _threshold(family, scale, budget.delta)


def _by_mu_squared(budget: Budget, family: Family[M], _best: int | None) -> tuple[Fraction, int] | None:
    if budget.mu_squared is None:
        return None
    limit = budget.mu_squared
    scale = _smallest_scale(family, lambda mechanism: _within(mechanism.mu_squared(), limit))
    return scale, _threshold(family, scale, budget.delta)


def _directly(budget: Budget, family: Family[M], _best: int | None) -> tuple[Fraction, int] | None:
    if budget.epsilon is None or not budget.accounting.adds_epsilon:
        return None
    if _at(family, Fraction(1), None).price().direct is None:
        return None
    limit = budget.epsilon

    def affordable(mechanism: M) -> bool:
        direct = mechanism.price().direct
        return direct is not None and direct.epsilon <= limit

    scale = _smallest_scale(family, affordable)
    return scale, _threshold(family, scale, budget.delta)


def _exactly(budget: Budget, family: Family[M], _best: int | None) -> tuple[Fraction, int] | None:
    """Settle by the δ of the whole mechanism, where it is known."""
    epsilon = budget.epsilon
    if epsilon is None or not _knows_delta(family):
        return None

    def built(exponent: float, threshold: int) -> KnowsDelta:
        return cast("KnowsDelta", family.build(_scale(exponent), threshold))

    limit = rho_cks_down(epsilon, budget.delta)
    enough = math.log2(_smallest_scale(family, lambda mechanism: mechanism.price().rho <= limit))
    searched = Searched(
        about=lambda exponent, threshold: built(exponent, threshold).delta_about(float(epsilon)),
        failure=lambda exponent, threshold: built(exponent, threshold).failure_about(),
        bound=lambda exponent, threshold: built(exponent, threshold).delta_at(epsilon),
        delta=budget.delta,
        lowest_threshold=_at(family, Fraction(1), None).lowest_threshold,
    )
    settled = lowest(searched, enough)
    return settled and (_scale(settled[0]), settled[1])


def _knows_delta(family: Family[M]) -> bool:
    mechanism: object = _at(family, Fraction(1), None)
    return isinstance(mechanism, KnowsDelta) and mechanism.knows_delta


def _by_conversion(budget: Budget, family: Family[M], best: int | None) -> tuple[Fraction, int] | None:
    if budget.epsilon is None:
        return None
    scale, threshold = _at_share(budget, family, _SHARES[0])
    if best is not None:
        # What is known exactly is not reached by converting, but for budgets where both are loose.
        hopeless = best if _knows_delta(family) else _HOPELESS * best
        if threshold > _SHARES_DIFFER * hopeless:
            return scale, threshold
    others = (_at_share(budget, family, share) for share in _SHARES[1:])
    scale, threshold = min((scale, threshold), *others, key=lambda settled: (settled[1], settled[0]))
    if best is not None and threshold > hopeless:
        return scale, threshold
    scale, threshold = _lowest_threshold(budget, family, scale, threshold)
    return _least_scale(budget, family, threshold, scale), threshold


def _lowest_threshold(budget: Budget, family: Family[M], scale: Fraction, threshold: int) -> tuple[Fraction, int]:
    """Go down from a threshold that fits, by steps that double and then halve, to the last one that does."""
    lowest, step, growing = _at(family, scale, threshold).lowest_threshold, 1, True
    while step:
        fits = None
        if threshold - step >= lowest:
            fits = _feasible_scale(budget, family, threshold - step, scale)
        if fits is None:
            step, growing = step // 2, False
        else:
            scale, threshold = fits, threshold - step
            step = 2 * step if growing else step // 2
    return scale, threshold


def _at_share(budget: Budget, family: Family[M], share: Fraction) -> tuple[Fraction, int]:
    """Give this share of δ to the conversion and the rest to the threshold."""
    conversion = share * budget.delta
    accounting = budget.accounting
    limit = accounting.loss_down(budget.epsilon or Fraction(0), conversion)
    scale = _smallest_scale(family, lambda mechanism: _within(accounting.price(mechanism), limit))
    return scale, _threshold(family, scale, budget.delta - conversion)


def _feasible_scale(budget: Budget, family: Family[M], threshold: int, near: Fraction) -> Fraction | None:
    """Return a scale at which this threshold fits into the budget, if the best one does."""

    def log_total(y: float) -> float:
        total = _total(budget, family, _scale(y), threshold)
        # Numerator and denominator apart: as a float the whole may be 0.
        return math.log(total.numerator) - math.log(total.denominator) if total > 0 else -math.inf

    centre = math.log2(near)
    best = _scale(lowest_point(log_total, centre - 1, centre + 1, steps=14))
    return best if _total(budget, family, best, threshold) <= budget.delta else None


def _least_scale(budget: Budget, family: Family[M], threshold: int, fits: Fraction) -> Fraction:
    """Return the smallest scale that fits, between half of one that does and that one."""
    low, high = math.log2(fits) - 1, math.log2(fits)
    for _ in range(16):
        middle = (low + high) / 2
        if _total(budget, family, _scale(middle), threshold) <= budget.delta:
            high, fits = middle, _scale(middle)
        else:
            low = middle
    return fits


def _total(budget: Budget, family: Family[M], scale: Fraction, threshold: int) -> Fraction:
    mechanism = _at(family, scale, threshold)
    loss = budget.accounting.price(mechanism)
    if loss is None:
        return Fraction(1)
    return mechanism.failure() + budget.accounting.delta_up(loss, budget.epsilon or Fraction(0))


def _within(loss: Fraction | None, limit: Fraction) -> bool:
    return loss is not None and loss <= limit


def _smallest_scale(family: Family[M], affordable: Callable[[M], bool]) -> Fraction:
    low, high = _SMALLEST_EXPONENT, _LARGEST_EXPONENT
    if not affordable(_at(family, _scale(high), None)):
        raise InvalidArgumentError("budget", "this one", "large enough for some amount of noise")
    if affordable(_at(family, _scale(low), None)):
        return _scale(low)
    # 2^-30 of relative width is below the digits a scale is rounded to.
    while high - low > 2**-30:
        middle = (low + high) / 2
        low, high = (low, middle) if affordable(_at(family, _scale(middle), None)) else (middle, high)
    return _scale(high)


def _threshold(family: Family[M], scale: Fraction, delta: Fraction) -> int:
    lowest = _at(family, scale, None).lowest_threshold
    return smallest(lambda t: family.build(scale, t).failure() <= delta, lowest)


def _at(family: Family[M], scale: Fraction, threshold: int | None) -> M:
    # The price does not depend on the threshold; any that is certainly allowed will do.
    return family.build(scale, 2**61 if threshold is None else threshold)


def _scale(exponent: float) -> Fraction:
    """Return 2^exponent as a short decimal, rounded up: noise of a scale that a person can read."""
    return round_up(Fraction(2.0**exponent), _SCALE_DIGITS)
