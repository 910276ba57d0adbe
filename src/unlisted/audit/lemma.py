"""The lemma, executed: is a claim true of two neighbours' exact laws? Proofs are in lemma.md.

First as the survey has it: the outcomes that both neighbours can produce are the good event, its complement must
be rarer than δ, and the laws given it must be within ρ. Where that is not enough (the good event need not be
visible in the outcome), by the best parts that any proof could choose. The same parts tell when a claim is false.

*The best parts.* A (ρ, δ) guarantee asks for parts P0 <= P and Q0 <= Q of mass 1 - δ each. What costs most are
outcomes with a high ratio, so the best P0 is min(P, c·Q), with c as low as δ allows; the best Q0 is min(Q, c'·P).
"""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from unlisted.audit.divergence import Likelihoods, LossLaw, RatioClass, Sides, grid, hockey_stick
from unlisted.audit.laws.output_law import ALL, DIGITS, DOWN, NONE, UP, OutputLaw, decimal_up
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

_A_LITTLE = Decimal("1e-30")


def good_parts(pair: Likelihoods, delta: Decimal) -> tuple[LossLaw, LossLaw] | None:
    """Return the losses of both directions between parts of mass at least 1 - δ; None if there are none.

    Moments of what is returned are bounds from above: a class counts as if all of it had its highest ratio.
    """
    flipped = pair.mirrored()
    left, right = _kept(pair, delta), _kept(flipped, delta)
    if left is None or right is None:
        return None
    right.reverse()
    return _losses(pair.classes, left, right), _losses(flipped.classes, right[::-1], left[::-1])


def _losses(classes: tuple[RatioClass, ...], left: list[Decimal], right: list[Decimal]) -> LossLaw:
    return LossLaw.of(
        [
            (DOWN.multiply(kept, one.left), UP.divide(UP.multiply(kept, one.ratio_high), other))
            for one, kept, other in zip(classes, left, right, strict=True)
        ]
    )


def _kept(pair: Likelihoods, delta: Decimal) -> list[Decimal] | None:
    """Return which share of each class stays in the part of the left law; classes are in order of their ratios."""
    cap = _cap([(one.left, one.ratio_high) for one in pair.classes], DOWN.subtract(delta, pair.failure))
    cap = UP.multiply(cap, UP.add(ALL, _A_LITTLE))
    shares = [min(ALL, DOWN.divide(cap, one.ratio_high)) for one in pair.classes]
    mass = NONE
    for one, share in zip(pair.classes, shares, strict=True):
        mass = DOWN.add(mass, DOWN.multiply(share, one.left))
    return shares if mass >= UP.subtract(ALL, delta) else None


def best_loss(pair: Likelihoods, delta: Decimal) -> LossLaw | None:
    """Return the least losses of any part of the left law of mass at least 1 - δ; None if there is no such part.

    Moments of what is returned are bounds from below, for any pair of parts whatsoever. What is missing from a law
    is granted to every class in full.
    """
    spare, lacking = pair.left_missing, pair.right_missing
    # Besides the classes: what the right law does not list, and what it alone lists.
    classes = [(UP.add(one.left, spare), UP.add(one.right, lacking)) for one in pair.classes]
    classes += [(UP.add(pair.left_only, spare), lacking), (spare, UP.add(pair.right_only, lacking))]
    total = NONE
    for left, _ in classes:
        total = UP.add(total, left)
    to_spend = UP.subtract(total, DOWN.subtract(ALL, delta))
    impossible = [left for left, right in classes if not right]
    for left in impossible:
        to_spend = UP.subtract(to_spend, left)
    if to_spend < 0:
        return None
    rated = [(left, right, UP.divide(left, right)) for left, right in classes if left and right]
    rated.sort(key=lambda one: one[2])
    cap = DOWN.multiply(_cap([(left, ratio) for left, _, ratio in rated], to_spend), DOWN.subtract(ALL, _A_LITTLE))
    return LossLaw.of([(DOWN.multiply(min(ratio, cap), right), min(ratio, cap)) for _, right, ratio in rated])


def _cap(weighted: list[tuple[Decimal, Decimal]], to_spend: Decimal) -> Decimal:
    """Return c such that lowering all higher ratios to c takes `to_spend` away; (weight, ratio) come in order.

    With the highest ratios lowered to c, Σ weight - c·Σ weight/ratio is gone, over those. Good to far more than
    `_A_LITTLE`; callers round to their side.
    """
    with decimal.localcontext(prec=2 * DIGITS):
        weights, per_ratio = NONE, NONE
        for weight, ratio in reversed(weighted):
            if per_ratio and weights - ratio * per_ratio >= to_spend:
                break
            weights, per_ratio = weights + weight, per_ratio + weight / ratio
        return max(NONE, (weights - max(NONE, to_spend)) / per_ratio) if per_ratio else NONE


RESOLUTION, SMALLEST_DELTA = Fraction(1, 10**6), Fraction(1, 10**12)
"""A claim is confirmed to six digits, and to 1e-12 in δ; that it is false is proved of its very numbers."""

_STEPS = (0.05, 0.005, 0.0005)
_INFINITE = float("inf")


class Verdict(StrEnum):
    """What was proved about a claim. `open`: neither that it holds to six digits nor that it is false."""

    holds = "holds"
    open = "open"
    violated = "violated"

    @property
    def badness(self) -> int:
        """The place in the order from good to bad."""
        return list(Verdict).index(self)

    @classmethod
    def worst(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """Return the worst of several."""
        return max(verdicts, key=lambda verdict: verdict.badness)


@dataclass(frozen=True)
class RhoFinding:
    """The ρ that is needed at the claimed δ is at least `low` and at most `high`.

    `given` is the ρ of the two laws given the outcomes that both list.
    """

    verdict: Verdict
    given: float
    low: float
    high: float


@dataclass(frozen=True)
class DeltaFinding:
    """The δ that is needed at the claimed ε is at least `low` and at most `high`."""

    verdict: Verdict
    low: Decimal
    high: Decimal


@dataclass(frozen=True)
class PairFinding:
    """What the laws of two neighbours say about a claim: the worse of both directions.

    `failure` is the chance of an outcome that only one of them lists. `direct` is there if the claim has an ε.
    """

    failure: Decimal
    rho: RhoFinding
    direct: DeltaFinding | None

    @property
    def verdict(self) -> Verdict:
        """Return the worse of the two verdicts."""
        return Verdict.worst([self.rho.verdict, *([self.direct.verdict] if self.direct else [])])


def examine(left: OutputLaw, right: OutputLaw, claim: Guarantee) -> PairFinding:
    """Hold a claim against the exact laws of two neighbours."""
    return judge(Likelihoods.both_ways(left, right), claim)


def judge(sides: Sides, claim: Guarantee) -> PairFinding:
    """Hold a claim against the likelihoods of two neighbours, both ways."""
    failure = max(side.failure for side in sides)
    direct = None if claim.direct is None else _direct(sides, claim.direct)
    return PairFinding(failure, _rho(sides, claim), direct)


def _rho(sides: Sides, claim: Guarantee) -> RhoFinding:
    """Bracket the ρ that is needed, on finer and finer grids of orders until the claim is outside the bracket."""
    rho, delta = float(claim.rho), decimal_up(_resolved(claim.delta))
    given = [_given_common(side) for side in sides]
    parts = good_parts(sides[0], delta)
    needed = [best_loss(side, decimal_up(claim.delta)) for side in sides]
    common = all(side.failure <= delta for side in sides)
    found = RhoFinding(Verdict.open, _INFINITE, 0.0, _INFINITE)
    for step in _STEPS:
        twin = max(_rho_at_most(law, rho, step) for law in given)
        enough = max(_rho_at_most(law, rho, step) for law in parts) if parts else _INFINITE
        high = min(enough, twin) if common else enough
        low = max(_rho_at_least(law, rho, step) for law in needed)
        found = RhoFinding(_against(low, high, claim.rho, claim.rho * (1 + RESOLUTION)), twin, low, high)
        if found.verdict is not Verdict.open:
            break
    return found


def _given_common(pair: Likelihoods) -> LossLaw:
    """Return the losses between the laws given the outcomes that both list, each made to add up to one."""
    left, right = _total([one.left for one in pair.classes]), _total([one.right for one in pair.classes])
    return LossLaw.of(
        [
            (DOWN.divide(one.left, left), UP.divide(UP.multiply(one.ratio_high, right), left))
            for one in pair.classes
        ]
    )


def _total(parts: list[Decimal]) -> Decimal:
    total = NONE
    for part in parts:
        total = DOWN.add(total, part)
    return total


def _rho_at_most(law: LossLaw, rho: float, step: float) -> float:
    return law.rho_at_most(grid(law.worst, rho, step))


def _rho_at_least(law: LossLaw | None, rho: float, step: float) -> float:
    return _INFINITE if law is None else law.rho_at_least(grid(law.worst, rho, step))


def _direct(sides: Sides, claim: EpsilonDelta) -> DeltaFinding:
    bounds = [hockey_stick(side, claim.epsilon) for side in sides]
    low, high = max(one[0] for one in bounds), max(one[1] for one in bounds)
    return DeltaFinding(_against(low, high, claim.delta, _resolved(claim.delta)), low, high)


def _resolved(delta: Fraction) -> Fraction:
    return delta * (1 + RESOLUTION) + SMALLEST_DELTA


def _against(low: float | Decimal, high: float | Decimal, claimed: Fraction, resolved: Fraction) -> Verdict:
    """Compare a bracket with what is claimed; as exact numbers, so that no comparison rounds."""
    if low == _INFINITE or Fraction(low) > claimed:
        return Verdict.violated
    if high != _INFINITE and Fraction(high) <= resolved:
        return Verdict.holds
    return Verdict.open
