"""What every mechanism's guarantee obeys, whatever the mechanism."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import pytest
from tests.conformance.registry import SUBJECTS, Knob, Move, Subject
from tests.known_bits import KnownBits

from unlisted.privacy.guarantee import Guarantee

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
