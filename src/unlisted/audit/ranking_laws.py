"""The exact law of Algorithm 3 on small histograms: a ranking by weights.

Draws are without replacement with chances proportional to e^(ε·count/Δ∞), ⊥ having the count c_⊥ + T.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

from unlisted.audit.histogram_laws import Histogram, cut
from unlisted.audit.noise_masses import noise_law
from unlisted.audit.output_law import ALL, DOWN, OutputLaw, decimal_down, independent
from unlisted.audit.subject import BOTTOM
from unlisted.mechanisms.top_k import TopK
from unlisted.privacy.rounding import exp_down, exp_up

Ranked = tuple[Any, ...]


def top_k_law(mechanism: TopK, histogram: Histogram) -> OutputLaw:
    """Return the law of a ranking; with counts, that of the ranking and the noisy counts of its labels."""
    ranking = mechanism.ranking
    top, bottom = cut(histogram, ranking.fetched)
    rate = mechanism.epsilon / ranking.sensitivity.count
    scores: dict[Any, Fraction] = {label: rate * count for label, count in top.items()}
    scores[BOTTOM] = rate * (bottom + mechanism.threshold)
    ranked = OutputLaw(dict(draws(scores, ranking.k)))
    if mechanism.counts_law is None:
        return ranked
    noise = noise_law(mechanism.counts_law)

    def noisy(count: int) -> OutputLaw:
        return noise.seen_as(lambda z: count + z)

    return ranked.then(
        lambda labels: independent([noisy(top[label]) for label in labels if label is not BOTTOM], tuple)
    )


def draws(
    scores: dict[Any, Fraction], k: int, so_far: Ranked = (), chance: Decimal = ALL
) -> Iterator[tuple[Ranked, Decimal]]:
    """Yield every ranking with a lower bound of its chance: weights rounded down over their sum rounded up."""
    if len(so_far) == k or (so_far and so_far[-1] is BOTTOM) or not scores:
        yield so_far, chance
        return
    highest = max(scores.values())
    whole = sum(exp_up(score - highest) for score in scores.values())
    for name, score in scores.items():
        share = decimal_down(exp_down(score - highest) / whole)
        left = {other: one for other, one in scores.items() if other != name}
        yield from draws(left, k, (*so_far, name), DOWN.multiply(chance, share))
