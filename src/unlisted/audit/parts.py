"""The best good parts of two laws: where the ratio is highest, take a little away. Proofs are in lemma.md.

A (ρ, δ) guarantee asks for parts P0 <= P and Q0 <= Q of mass 1 - δ each. What costs most are outcomes with a high
ratio, so the best P0 is min(P, c·Q), with c as low as δ allows; the best Q0 is min(Q, c'·P).
"""

from __future__ import annotations

import decimal
from decimal import Decimal

from unlisted.audit.divergence import LossLaw
from unlisted.audit.likelihoods import Likelihoods, RatioClass
from unlisted.audit.output_law import ALL, DIGITS, DOWN, NONE, UP

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
    cap = _cap([(one.left, one.ratio_high) for one in pair.classes], DOWN.subtract(delta, pair.escape))
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
