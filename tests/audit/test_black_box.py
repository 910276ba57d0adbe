"""The black box: bounds that hold, on laws that are known, and that come near what is true."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest
from tests.audit.repeatable import repeatable

from unlisted.audit.black_box import BlackBox, Evidence, black_box
from unlisted.audit.events import WHOLE, Event
from unlisted.audit.subject import Pair, Subject
from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import Law
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

NOTHING = Fraction(0)


def one_count(law: Law, claim: Guarantee, *others: Pair) -> Subject:
    """A count with noise, 10 against 11, and other pairs to try first."""
    bits = repeatable(f"{law} {claim}")

    def batch(count: int, runs: int) -> Counter[int]:
        return Counter((law.sample(runs, bits()) + count).tolist())

    return Subject("one count", claim, lambda: [*others, Pair("one more", 10, 11)], lambda count: 0, batch=batch)


def laplace_claim(scale: Fraction) -> Guarantee:
    law = DiscreteLaplace(scale)
    return Guarantee(law.rho(1), NOTHING, EpsilonDelta(law.epsilon(1), NOTHING))


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 2), Fraction(5)])
def test_bounds_come_near_the_truth_and_stay_below(scale: Fraction) -> None:
    claim = laplace_claim(scale)
    found = black_box(one_count(DiscreteLaplace(scale), claim), trials=800_000)
    assert found.against is None
    assert 0.9 * float(claim.direct.epsilon) < found.epsilon < claim.direct.epsilon
    assert 0.8 * float(claim.rho) < found.rho < claim.rho


@pytest.mark.parametrize("part", [Fraction(95, 100), Fraction(99, 100)])
def test_a_claim_that_is_a_little_too_good_is_refuted(part: Fraction) -> None:
    """The power twin: 5 % less ε takes 800,000 runs to see, and 1 % less takes more."""
    claim = laplace_claim(Fraction(1))
    lower = Guarantee(claim.rho, NOTHING, EpsilonDelta(claim.direct.epsilon * part, NOTHING))
    found = black_box(one_count(DiscreteLaplace(Fraction(1)), lower), trials=800_000)
    assert (found.against is not None) == (part < Fraction(98, 100))


def test_rho_is_refuted_without_any_epsilon() -> None:
    law = DiscreteGaussian(Fraction(1))
    assert black_box(one_count(law, Guarantee(law.rho(1), NOTHING)), trials=400_000).against is None
    found = black_box(one_count(law, Guarantee(law.rho(1) / 2, NOTHING)), trials=400_000)
    assert found.against is not None
    assert law.rho(1) / 2 < found.rho < law.rho(1)


def test_the_telling_pair_is_found_among_others() -> None:
    same = [Pair(f"the same {i}", i, i) for i in range(20)]
    claim = laplace_claim(Fraction(1))
    halved = Guarantee(claim.rho / 2, NOTHING)
    found = black_box(one_count(DiscreteLaplace(Fraction(1)), halved, *same), trials=400_000)
    assert found.against is not None
    assert found.against.pair.startswith("one more")


def test_a_mechanism_that_says_nothing_gives_nothing_away() -> None:
    subject = Subject("silent", Guarantee(NOTHING, NOTHING), lambda: [Pair("any", 0, 1)], lambda _data: "nothing")
    found = black_box(subject, trials=1000)
    assert (found.epsilon, found.rho, found.against) == (0, 0, None)


def test_data_itself_is_found_in_a_hundred_runs_of_a_plain_callable() -> None:
    """Any callable will do, and its outputs need not be hashable."""
    subject = Subject(
        "leak", Guarantee(Fraction(1, 100), NOTHING), lambda: [Pair("any", 0, 1)], lambda data: [data]
    )
    found = black_box(subject, trials=100)
    assert found.against is not None
    assert found.against.times == (48, 0)


def test_the_risk_is_split_and_said() -> None:
    """Everything stated holds at once: each of the four bounds has a quarter of the risk."""
    found = black_box(one_count(DiscreteLaplace(Fraction(1)), laplace_claim(Fraction(1))), confidence="0.99")
    assert found.confidence == Fraction(99, 100)
    one, other = found.evidence[0], found.evidence[1]
    assert (one.runs, other.runs) == (50_000, 50_000)
    surer = black_box(one_count(DiscreteLaplace(Fraction(1)), laplace_claim(Fraction(1))), confidence="0.9999999")
    assert surer.evidence[0].low < found.evidence[0].low


def test_confidence_is_kept() -> None:
    """At a confidence of 3/4 and a claim that is exactly true, false alarms are rarer than one in four."""
    subject = one_count(DiscreteLaplace(Fraction(1)), laplace_claim(Fraction(1)))
    found = [black_box(subject, trials=400, confidence="0.75") for _ in range(40)]
    assert sum(one.against is not None for one in found) <= 10


def evidence(low: Fraction, high: Fraction) -> Evidence:
    return Evidence("by hand", Event(WHOLE), 1, (1, 0), low, high)


def test_bounds_follow_from_the_chances() -> None:
    """Two outcomes, by hand: log((p-δ)/q), and the Rényi divergence of the two-outcome laws."""
    p, q, delta = Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)
    found = evidence(p, q)
    assert float(found.epsilon(delta)) == pytest.approx(math.log(3))
    pure = float(found.rho(NOTHING))
    orders = [1 + 10 ** (i / 100 - 4) for i in range(580)]
    renyi = [math.log(0.7**a * 0.2 ** (1 - a) + 0.3**a * 0.8 ** (1 - a)) / (a - 1) / a for a in orders]
    assert pure <= max(renyi)
    assert pure == pytest.approx(max(renyi), rel=0.01)
    assert 0 < found.rho(delta) < pure
    assert found.rho(Fraction(6, 10)) == 0
    assert found.epsilon(Fraction(6, 10)) == 0


def test_a_true_claim_is_never_contradicted_by_true_chances() -> None:
    """Randomised response: the bound of ρ meets ε·tanh(ε/2), from below."""
    epsilon = Fraction(1)
    q = Fraction(1) / (1 + Fraction(math.e))
    found = evidence(1 - q, q)
    tight = Fraction(math.tanh(0.5)) + Fraction(1, 10**12)
    assert not found.contradicts(Guarantee(tight, NOTHING, EpsilonDelta(epsilon + Fraction(1, 10**12), NOTHING)))
    assert found.contradicts(Guarantee(tight * Fraction(998, 1000), NOTHING))


@pytest.mark.parametrize(
    "wrong", [{"trials": 10}, {"trials": 0}, {"confidence": 1}, {"confidence": "0.3"}, {"at_delta": "much"}]
)
def test_what_cannot_be_audited_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError):
        black_box(one_count(DiscreteLaplace(Fraction(1)), laplace_claim(Fraction(1))), **wrong)


def test_a_subject_without_neighbours_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="at least one pair"):
        black_box(Subject("lonely", Guarantee(NOTHING, NOTHING), list, lambda data: data))


def test_progress_counts_the_runs() -> None:
    told: list[int] = []
    subject = one_count(DiscreteLaplace(Fraction(1)), laplace_claim(Fraction(1)))
    found = black_box(subject, trials=8000, progress=told.append)
    assert isinstance(found, BlackBox)
    assert sum(told) == 2 * 8000
