"""The μ² that mechanisms say, held against their exact laws on small worlds.

What is (μ², δ)-Gaussian is (ε, δ + h(μ², e^ε))-DP at every ε, negative ones too. So at each of some ε the
hockey-stick divergence of two neighbours' exact laws must be below that, whatever the mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from unlisted.audit.divergence import Likelihoods, hockey_stick
from unlisted.audit.laws.output_law import decimal_up
from unlisted.audit.subject import Subject
from unlisted.audit.subjects.histograms import (
    audited_histogram,
    audited_top_histogram,
    audited_top_k,
)
from unlisted.audit.subjects.labels import labels_subject, optimal_subject
from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.normal import normal_delta_up
from unlisted.privacy.sensitivity import Sensitivity

ONE, TWO = Sensitivity(1), Sensitivity(2)
EPSILONS = [Fraction(n, 4) for n in (-4, -1, 0, 1, 2, 4, 8)]
MOST_PAIRS = 16


def _rounds() -> LabelSelection:
    return LabelSelection((LabelRound(Weighing(2), Fraction(9), 11 * UNIT),))


AUDITED: dict[str, tuple[Any, Callable[[Any], Subject]]] = {
    "laplace": (
        ThresholdHistogram(DiscreteLaplace(Fraction(1)), 7, TWO),
        lambda one: audited_histogram("laplace", one),
    ),
    "gaussian": (
        ThresholdHistogram(DiscreteGaussian(Fraction(4)), 8, Sensitivity(2, count=2)),
        lambda one: audited_histogram("gaussian", one),
    ),
    "replace": (
        ThresholdHistogram(DiscreteGaussian(Fraction(1)), 4, Sensitivity(1, adjacency="replace")),
        lambda one: audited_histogram("replace", one),
    ),
    "top histogram": (
        TopHistogram(DiscreteGaussian(Fraction(1)), 6, 2, TWO),
        lambda one: audited_top_histogram("top", one),
    ),
    "ranking": (
        TopK.at(Ranking(3, 2, ONE), epsilon=1, delta="0.002"),
        lambda one: audited_top_k("ranking", one, fetched=2),
    ),
    "ranking with counts": (
        TopK.at(Ranking(2, 2, ONE), epsilon=1, delta="0.002", counts_law=DiscreteGaussian(Fraction(1))),
        lambda one: audited_top_k("counts", one, fetched=2),
    ),
    "labels": (_rounds(), lambda one: labels_subject("labels", one)),
    "a coin each": (OptimalLabels(Fraction(1), Fraction(1, 100), TWO), lambda one: optimal_subject("coins", one)),
}


def excess(subject: Subject, mu_squared: Fraction, delta: Fraction) -> Decimal:
    """Return by how much the worst divergence of some pairs is above what (μ², δ) allows; 0 or less if nowhere."""
    law = subject.law
    assert law is not None
    worst = Decimal(-1)
    pairs = list(subject.pairs())
    # From all over the world, the farthest corner included.
    for pair in pairs[:: -max(1, len(pairs) // MOST_PAIRS)]:
        for side in Likelihoods.both_ways(law(pair.left), law(pair.right)):
            for epsilon in EPSILONS:
                allowed = decimal_up(delta + normal_delta_up(mu_squared, epsilon))
                worst = max(worst, hockey_stick(side, epsilon)[0] - allowed)
    return worst


@pytest.mark.parametrize("name", AUDITED)
def test_exact_laws_are_within_the_price(name: str) -> None:
    mechanism, subject = AUDITED[name]
    assert excess(subject(mechanism), mechanism.mu_squared(), mechanism.guarantee().delta) <= 0


@pytest.mark.parametrize("name", ["gaussian", "ranking", "a coin each"])
def test_a_price_too_low_is_found(name: str) -> None:
    """The power twin: with a quarter of it the laws contradict the price."""
    mechanism, subject = AUDITED[name]
    cheaper = mechanism.mu_squared() * Fraction(1, 4)
    assert excess(subject(mechanism), cheaper, mechanism.guarantee().delta) > 0
