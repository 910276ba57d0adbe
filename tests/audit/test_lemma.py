"""A claim that is true to the last digit holds, and one that is a little too small is violated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unlisted.audit.divergence import Likelihoods
from unlisted.audit.laws.histograms import threshold_histogram_law, top_histogram_law, top_k_law
from unlisted.audit.laws.output_law import OutputLaw, decimal_up
from unlisted.audit.laws.streams import running_histogram_law
from unlisted.audit.lemma import PairFinding, Verdict, best_loss, examine, good_parts
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
LAPLACE, GAUSSIAN = DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1))
A_LITTLE_LESS = Fraction(999, 1000)

Law = Callable[[Any, Any], OutputLaw]


def scaled(claim: Guarantee, rho: Fraction = Fraction(1), delta: Fraction = Fraction(1)) -> Guarantee:
    direct = claim.direct and EpsilonDelta(claim.direct.epsilon * rho, claim.direct.delta * delta)
    return Guarantee(claim.rho * rho, claim.delta * delta, direct)


def found(law: Law, mechanism: Any, pair: tuple[Any, Any], claim: Guarantee) -> PairFinding:
    return examine(law(mechanism, pair[0]), law(mechanism, pair[1]), claim)


EVERYDAY = ThresholdHistogram(LAPLACE, 19, ONE)
"""δ = 2e-9, which no number of runs would ever meet."""

TIGHT_IN_DELTA = {
    "histogram, Laplace": (threshold_histogram_law, EVERYDAY, ({}, {"a": 1})),
    "histogram, Gaussian": (threshold_histogram_law, ThresholdHistogram(GAUSSIAN, 5, ONE), ({}, {"a": 1})),
    "top histogram": (top_histogram_law, TopHistogram(LAPLACE, 12, 1, ONE), ({"a": 2, "b": 2}, {"a": 2, "b": 3})),
    "ranking": (
        top_k_law,
        TopK.at(Ranking(2, 2, ONE), epsilon=1, delta="1e-6"),
        ({"a": 2, "b": 2, "c": 2}, {"a": 2, "b": 2, "c": 3}),
    ),
}

TIGHT_IN_RHO = {
    "histogram, Laplace": (threshold_histogram_law, EVERYDAY, ({"a": 900}, {"a": 901})),
    "histogram, Gaussian": (threshold_histogram_law, ThresholdHistogram(GAUSSIAN, 6, ONE), ({"a": 90}, {"a": 91})),
    "top histogram": (
        top_histogram_law,
        TopHistogram(GAUSSIAN, 8, 1, ONE),
        ({"a": 90, "b": 2}, {"a": 90, "b": 3}),
    ),
    "stream": (
        running_histogram_law,
        RunningHistogram(GAUSSIAN, (8,), 2, ONE),
        (({"a": 90}, {}), ({"a": 91}, {})),
    ),
}


@pytest.mark.parametrize("name", TIGHT_IN_DELTA)
def test_a_delta_a_tenth_of_a_percent_too_small_is_violated(name: str) -> None:
    law, mechanism, pair = TIGHT_IN_DELTA[name]
    claim = mechanism.guarantee()
    assert found(law, mechanism, pair, claim).verdict is Verdict.holds
    assert found(law, mechanism, pair, scaled(claim, delta=A_LITTLE_LESS)).verdict is Verdict.violated


@pytest.mark.parametrize("name", TIGHT_IN_RHO)
def test_a_rho_a_tenth_of_a_percent_too_small_is_violated(name: str) -> None:
    law, mechanism, pair = TIGHT_IN_RHO[name]
    claim = Guarantee(mechanism.guarantee().rho, mechanism.guarantee().delta)
    assert found(law, mechanism, pair, claim).verdict is Verdict.holds
    assert found(law, mechanism, pair, scaled(claim, rho=A_LITTLE_LESS)).verdict is Verdict.violated


def test_an_epsilon_a_tenth_of_a_percent_too_small_is_violated() -> None:
    direct = EVERYDAY.guarantee().direct
    assert direct is not None
    generous = EVERYDAY.guarantee().rho * 2
    pair = ({"a": 19}, {"a": 20})
    claim = Guarantee(generous, direct.delta, EpsilonDelta(direct.epsilon * A_LITTLE_LESS, direct.delta))
    finding = found(threshold_histogram_law, EVERYDAY, pair, claim)
    assert finding.rho.verdict is Verdict.holds
    assert finding.verdict is Verdict.violated


def test_the_direction_of_a_pair_does_not_matter() -> None:
    claim = scaled(EVERYDAY.guarantee(), delta=Fraction(1, 2))
    for pair in (({}, {"a": 1}), ({"a": 1}, {})):
        assert found(threshold_histogram_law, EVERYDAY, pair, claim).verdict is Verdict.violated


def test_an_event_that_the_outcome_does_not_show() -> None:
    """The laws given the common outcomes are too far apart, and the claim holds all the same: see lemma.md."""
    mechanism = TopHistogram(GAUSSIAN, 6, 2, Sensitivity(2))
    finding = found(top_histogram_law, mechanism, ({}, {"b": 1, "c": 1}), mechanism.guarantee())
    assert finding.rho.given > 2 * mechanism.guarantee().rho
    assert finding.verdict is Verdict.holds


def test_a_label_that_vanishes_and_reappears() -> None:
    mechanism = RunningHistogram(GAUSSIAN, (4, 5), 3, ONE)
    reappears = (({"a": 1}, {}, {"a": 4}), ({}, {}, {"a": 4}))
    finding = found(running_histogram_law, mechanism, reappears, mechanism.guarantee())
    assert finding.verdict is Verdict.holds
    assert float(finding.failure) > 0.25 * float(mechanism.guarantee().delta)


def test_a_law_that_says_too_little_proves_nothing() -> None:
    half = OutputLaw.exactly({"a": Fraction(1, 2)})
    claim = Guarantee(Fraction(1), Fraction(1, 100))
    assert examine(half, half, claim).verdict is Verdict.open


def test_laws_that_are_the_same_cost_nothing() -> None:
    law = threshold_histogram_law(EVERYDAY, {"a": 20})
    assert examine(law, law, Guarantee(Fraction(1, 1000), Fraction(1, 10**9))).verdict is Verdict.holds


def test_a_claim_without_rho_or_delta() -> None:
    same = OutputLaw.exactly({"a": Fraction(1, 4), "b": Fraction(3, 4)})
    other = OutputLaw.exactly({"a": Fraction(3, 4), "b": Fraction(1, 4)})
    assert examine(same, other, Guarantee(Fraction(0), Fraction(0))).verdict is Verdict.violated
    assert examine(same, other, Guarantee(Fraction(1), Fraction(0))).verdict is Verdict.holds


weights = st.lists(st.integers(0, 60), min_size=3, max_size=5).filter(lambda one: sum(one) > 0)


@given(weights, weights, st.fractions(0, Fraction(1, 2)), st.data())
def test_no_other_part_is_cheaper(left: list[int], right: list[int], delta: Fraction, data: st.DataObject) -> None:
    """Whatever is cut from the left law, and whatever from the right, the moment is no smaller than the bound."""
    size = min(len(left), len(right))
    left, right = left[:size], right[:size]
    if not sum(left) or not sum(right):
        return
    p, q = ([Fraction(w, sum(one)) for w in one] for one in (left, right))
    pair = Likelihoods.of(OutputLaw.exactly(dict(enumerate(p))), OutputLaw.exactly(dict(enumerate(q))))
    bound = best_loss(pair, decimal_up(delta))
    shares = data.draw(st.lists(st.fractions(0, 1), min_size=size, max_size=size))
    part = [a * share for a, share in zip(p, shares, strict=True)]
    if sum(part) < 1 - delta:
        # Put back as much as it takes.
        need, there = 1 - delta - sum(part), 1 - sum(part)
        part = [b + (a - b) * need / there for a, b in zip(p, part, strict=True)]
    if any(b > 0 and c == 0 for b, c in zip(part, q, strict=True)):
        return
    assert bound is not None
    for order in (1.5, 2.0, 6.0):
        moment = sum(float(b) ** order * float(c) ** (1 - order) for b, c in zip(part, q, strict=True) if b > 0)
        value, error = bound.log_moments(np.array([order]))
        assert value[0] - error[0] <= np.log(moment) + 1e-9


@given(weights, weights, st.fractions(Fraction(1, 100), Fraction(1, 2)))
def test_good_parts_are_parts(left: list[int], right: list[int], delta: Fraction) -> None:
    size = min(len(left), len(right))
    if not sum(left[:size]) or not sum(right[:size]):
        return
    p, q = ({i: Fraction(w, sum(one[:size])) for i, w in enumerate(one[:size])} for one in (left, right))
    pair = Likelihoods.of(OutputLaw.exactly(p), OutputLaw.exactly(q))
    parts = good_parts(pair, decimal_up(delta))
    if parts is None:
        assert max(pair.failure, pair.mirrored().failure) > float(delta) * 0.999
        return
    for one in parts:
        mass = float(np.exp(one.log_masses).sum())
        assert 1 - float(delta) - 1e-9 <= mass <= 1 + 1e-9
