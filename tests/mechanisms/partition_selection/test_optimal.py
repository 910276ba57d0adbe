"""A coin for each label: the chances keep the promise exactly, and the coins have these chances."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.test_lazy_tail import profiled
from tests.statistical.goodness import accepts, as_numbers, g_test, rejects

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.rounding import exp_down
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
USUAL = Budget(epsilon=1, delta="1e-8")
TINY = {"a": 1, "b": 1, "c": 2, "d": 4}
REPEATS = 1500


def coins(epsilon: object, delta: object, sensitivity: Sensitivity = ONE) -> OptimalLabels:
    return OptimalLabels(Fraction(str(epsilon)), Fraction(str(delta)), sensitivity)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [
        ("1e-3", "0.4", ONE),
        ("0.1", "1e-8", ONE),
        ("1", "1e-8", ONE),
        ("1", "1e-8", Sensitivity(3, adjacency="replace")),
        ("1", "1e-70", Sensitivity(2)),
        ("7", "1e-3", Sensitivity(10)),
        ("20000", "1e-8", ONE),
        ("1e-60", "0.01", ONE),
    ],
)
def test_neighbours_chances_keep_the_promise_at_every_count(
    epsilon: str, delta: str, sensitivity: Sensitivity
) -> None:
    mechanism = coins(epsilon, delta, sensitivity)
    labels = sensitivity.sides * sensitivity.items
    # A lower bound of e^ε₁ makes the inequalities only harder to keep.
    grown, delta_one = exp_down(Fraction(epsilon) / labels, 70), Fraction(delta) / labels
    assert mechanism.chance(0) == 0
    assert mechanism.chance(mechanism.certain) == mechanism.chance(mechanism.certain + 1) == 1
    for users in range(mechanism.certain):
        less, more = mechanism.chance(users), mechanism.chance(users + 1)
        assert less < more <= 1
        assert more <= grown * less + delta_one
        assert 1 - less <= grown * (1 - more) + delta_one


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-8"), ("0.2", "1e-5"), ("3", "1e-12")])
def test_no_chance_could_be_larger_by_more_than_rounding(epsilon: str, delta: str) -> None:
    mechanism = coins(epsilon, delta)
    grown, shrunk, added = math.exp(float(epsilon)), math.exp(-float(epsilon)), float(delta)
    for users in range(mechanism.certain):
        less, more = float(mechanism.chance(users)), float(mechanism.chance(users + 1))
        assert more == pytest.approx(min(grown * less + added, 1 - shrunk * (1 - less - added), 1), rel=1e-12)


@pytest.mark.parametrize(("items", "even"), [(1, 19), (3, 54), (10, 178)])
def test_an_even_chance_takes_as_many_users_as_the_theory_says(items: int, even: int) -> None:
    mechanism = OptimalLabels.for_budget(USUAL, Sensitivity(items)).mechanism
    assert mechanism.even == even
    assert mechanism.chance(even - 1) < Fraction(1, 2) <= mechanism.chance(even)
    assert mechanism.chance(1) == pytest.approx(1e-8 / items, rel=1e-12)


def test_a_budget_is_spent_and_not_exceeded() -> None:
    both = Sensitivity(2, adjacency="replace")
    for budget in (USUAL, Budget(rho="0.02", delta="1e-8"), Budget(rho=7, delta="1e-3")):
        promised = OptimalLabels.for_budget(budget, both).mechanism.guarantee()
        assert budget.allows(promised)
        assert promised.delta == budget.delta
        if budget.rho is not None:
            assert promised.rho > budget.rho * Fraction(999999, 1000000)
        else:
            assert promised.epsilon(budget.delta) == budget.epsilon


def test_rho_is_that_of_one_label_times_the_labels() -> None:
    """Ten labels of a tenth of ε each cost about ten times (ε/10)²/2, a tenth of what ε at one label costs."""
    one, ten = (coins(1, "1e-8", Sensitivity(items)).guarantee().rho for items in (1, 10))
    assert float(one) == pytest.approx(math.tanh(0.5))
    assert float(ten) == pytest.approx(math.tanh(0.05))


def outcome_law(mechanism: OptimalLabels) -> dict[tuple[bool, ...], float]:
    """Return the chance of every set of released labels of TINY."""
    chances = [float(mechanism.chance(users)) for users in TINY.values()]
    return {
        shown: math.prod(p if out else 1 - p for out, p in zip(shown, chances, strict=True))
        for shown in itertools.product((False, True), repeat=len(TINY))
    }


def outcomes(mechanism: OptimalLabels, counts: BoundedCounts | CountProfile, name: str) -> list[tuple[bool, ...]]:
    bits = KnownBits(name)
    released = (set(mechanism.release(counts, bits).labels.to_pylist()) for _ in range(REPEATS))
    return [tuple(label in shown for label in TINY) for shown in released]


@pytest.mark.parametrize("cut", [None, 0, 1, 2, 4])
def test_the_coins_of_listed_and_of_unnamed_labels_have_the_joint_law(cut: int | None) -> None:
    mechanism, other = coins("0.5", "0.2"), coins("0.5", "0.16")
    counts = BoundedCounts.from_dict(TINY, ONE) if cut is None else profiled(TINY, cut)
    found = outcomes(mechanism, counts, f"optimal labels {cut}")
    accepts(g_test(*as_numbers(found, outcome_law(mechanism))))
    # A fifth less of δ would be seen.
    rejects(g_test(*as_numbers(found, outcome_law(other))))


def test_what_many_users_have_always_comes_and_nothing_comes_of_nothing() -> None:
    mechanism = coins(1, "1e-8")
    many = {f"label {n:03}": mechanism.certain + n for n in range(100)}
    counts = BoundedCounts.from_dict(many | {"rare": 1}, ONE)
    assert mechanism.release(counts, KnownBits("certain")).labels.to_pylist() == sorted(many)
    for nothing in (BoundedCounts.from_dict({}, ONE), profiled({}, 3)):
        answer = mechanism.release(nothing)
        assert len(answer) == 0
        assert answer.counts is None
        assert answer.spent == mechanism.guarantee()


@pytest.mark.parametrize(
    "counts",
    [
        BoundedCounts.from_dict(TINY, ONE, fetched=4),
        profiled(TINY, 2, fetched=3),
        BoundedCounts.from_dict(TINY, Sensitivity(2)),
        BoundedCounts.from_dict(TINY, Sensitivity(1, 2)),
        BoundedCounts.from_dict(TINY, Sensitivity(1, adjacency="replace")),
        BoundedCounts.from_dict(TINY, ONE, minimum_count=2),
    ],
    ids=["largest only", "a profile of them", "more items", "rows", "other neighbours", "cut off below"],
)
def test_counts_that_it_was_not_priced_for_are_refused(counts: BoundedCounts | CountProfile) -> None:
    with pytest.raises(InvalidCountsError):
        coins(1, "1e-8").release(counts)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [
        (0, "1e-8", ONE),
        (1, 0, ONE),
        (1, 1, ONE),
        (1, "1e-8", Sensitivity(None)),
        (1, "1e-8", Sensitivity(1, 2)),
        (1, "1e-8", Sensitivity(10_000)),
        ("1e-5", "1e-8", ONE),
    ],
)
def test_what_cannot_be_promised_or_computed_is_refused(
    epsilon: object, delta: object, sensitivity: Sensitivity
) -> None:
    with pytest.raises(InvalidArgumentError):
        coins(epsilon, delta, sensitivity)
