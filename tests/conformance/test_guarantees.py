"""What every mechanism's guarantee obeys, whatever the mechanism."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import pytest
from tests.conformance.registry import SUBJECTS, TOTALS, Knob, Move, Subject, Weighed, those
from tests.fixtures.known_bits import KnownBits

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.registry import MECHANISMS
from unlisted.privacy.guarantee import Guarantee

those_of_one_question = those(lambda subject: isinstance(subject.noisy, Mechanism))
LABELS = [f"label {i}" for i in range(12)]


@pytest.mark.parametrize("times", [1, 2, 3, 17])
def test_n_times_is_n_additions(subject: Subject, times: int) -> None:
    one = subject.noisy.guarantee()
    assert times * one == reduce(add, [one] * times)
    assert one * times == times * one


def test_zero_times_costs_nothing_and_adding_nothing_changes_nothing(subject: Subject) -> None:
    one = subject.noisy.guarantee()
    assert 0 * one == Guarantee.nothing()
    assert one + Guarantee.nothing() == one
    assert Guarantee.nothing().epsilon(at_delta="1e-9") == 0


def test_a_guarantee_is_exact_and_says_something(subject: Subject) -> None:
    one = subject.noisy.guarantee()
    assert isinstance(one.rho, Fraction)
    assert isinstance(one.delta, Fraction)
    assert one.rho > 0
    assert 0 < one.delta < 1
    assert one.covers(one)
    assert not one.covers(2 * one)
    assert (2 * one).covers(one)


MOVES = {
    "rises": lambda before, after: before < after,
    "never falls": lambda before, after: before <= after,
    "same": lambda before, after: before == after,
    "never rises": lambda before, after: before >= after,
    "falls": lambda before, after: before > after,
}


@pytest.mark.parametrize(
    ("subject", "name"),
    [(subject, name) for subject in SUBJECTS for name in subject.knobs],
    ids=lambda value: value.name if isinstance(value, Subject) else value,
)
def test_the_price_moves_with_each_parameter_as_it_should(subject: Subject, name: str) -> None:
    knob: Knob = subject.knobs[name]
    prices = [subject.make(**{name: value}).guarantee() for value in knob.values]
    for before, after in pairwise(prices):
        assert moved(knob.rho, before.rho, after.rho), f"ρ of {name}: {float(before.rho)} → {float(after.rho)}"
        assert moved(knob.delta, before.delta, after.delta), (
            f"δ of {name}: {float(before.delta)} → {float(after.delta)}"
        )
        if before.direct is not None and after.direct is not None:
            assert moved(weakly(knob.rho), before.direct.epsilon, after.direct.epsilon)
            assert moved(knob.delta, before.direct.delta, after.direct.delta)


def moved(how: Move, before: Fraction, after: Fraction) -> bool:
    return MOVES[how](before, after)


def weakly(how: Move) -> Move:
    return {"rises": "never falls", "falls": "never rises"}.get(how, how)


@pytest.mark.parametrize("labels", [0, 1, 12])
def test_an_answer_spends_within_the_ceiling_that_was_named_before(subject: Subject, labels: int) -> None:
    before = subject.noisy.guarantee()
    counts = subject.counts(LABELS[:labels], [7] * labels)
    answer = subject.ask(subject.noisy, counts, KnownBits(f"ceiling {labels}"))
    assert before.rho >= answer.spent.rho > 0
    assert before.delta >= answer.spent.delta > 0
    assert subject.noisy.guarantee() == before


def test_the_guarantee_does_not_look_at_data(subject: Subject) -> None:
    """Two mechanisms of equal parameters promise the same, one of which has answered."""
    used, unused = subject.make(), subject.make()
    subject.ask(used, subject.counts(LABELS, [10**6] * 12), KnownBits("used"))
    assert used.guarantee() == unused.guarantee()


def test_every_mechanism_of_the_registry_is_tested_here() -> None:
    tested = {type(subject.noisy) for subject in SUBJECTS} | {type(total.noisy) for total in TOTALS}
    assert [one.__name__ for one in MECHANISMS if one not in tested] == []


@pytest.mark.parametrize(
    "subject", [one for one in SUBJECTS if isinstance(one.noisy, Mechanism)], ids=lambda s: s.name
)
def test_a_mechanism_says_itself(subject: Subject) -> None:
    """Name, threshold, noise, accuracy, whom it protects and what it needs, before any data is there."""
    mechanism: Mechanism = subject.noisy
    described = mechanism.describe()
    assert described.name.isidentifier()
    assert described.title
    assert described.noise
    assert described.threshold > 0
    needed = mechanism.accuracy().needed
    assert 0 < needed[50] <= needed[95] <= needed[99]
    assert (mechanism.accuracy().half_width is None) == (not subject.has_counts)
    assert mechanism.protects().adjacency == "add_remove"
    assert mechanism.complete is None or not mechanism.ranks
    assert mechanism.encoding() == subject.noisy.encoding()
    assert mechanism.encoding() != subject.quiet.encoding()


@pytest.mark.parametrize(
    "subject", [one for one in SUBJECTS if isinstance(one.noisy, Mechanism)], ids=lambda s: s.name
)
def test_a_mechanism_gets_what_it_needs_from_a_source(subject: Subject) -> None:
    counts = subject.counts(LABELS, [5000] * 12)
    answer = subject.quiet.run(Source(counts), KnownBits("source"))
    assert sorted(answer.labels.to_pylist()) == sorted(LABELS)
    interval = subject.quiet.intervals(answer)
    assert (interval is None) == (not subject.has_counts)
    if interval is not None:
        assert (interval[0] <= answer.counts).all()
        assert (answer.counts <= interval[1]).all()


class Source:
    """Counts, for whatever a mechanism needs of them."""

    def __init__(self, counts: BoundedCounts) -> None:
        self._counts = counts

    def all_counts(self, cut: int) -> AbstractContextManager[BoundedCounts]:
        return nullcontext(self._counts)

    def largest_counts(self, fetched: int) -> AbstractContextManager[BoundedCounts]:
        return nullcontext(self._counts)

    def weights(self) -> AbstractContextManager[Weighed]:
        return nullcontext(Weighed(self._counts))
