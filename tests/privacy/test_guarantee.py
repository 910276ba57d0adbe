"""The algebra of guarantees: two statements, each composed on its own, exactly."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.high_precision import quick, same_digits, sizes, slow

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.convert import delta_cks_up, epsilon_cks_up
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee

DELTAS = st.one_of(st.just(Fraction(0)), sizes(-20, 0).map(lambda d: d / 10))
RHOS = st.one_of(st.just(Fraction(0)), sizes(-9, 2))
DIRECT = st.one_of(st.none(), st.builds(EpsilonDelta, RHOS, DELTAS))
GUARANTEES = st.builds(Guarantee, RHOS, DELTAS, DIRECT)
NOTHING = Guarantee.nothing()


@quick
@given(GUARANTEES, st.integers(1, 40))
def test_n_fold_equals_the_loop(one: Guarantee, n: int) -> None:
    assert n * one == one * n == reduce(add, [one] * n)


@quick
@given(GUARANTEES)
def test_zero_costs_zero(one: Guarantee) -> None:
    assert 0 * one == NOTHING
    assert one + NOTHING == NOTHING + one == one
    assert NOTHING.epsilon(0) == NOTHING.epsilon("1e-8") == 0


@quick
@given(GUARANTEES, GUARANTEES, GUARANTEES)
def test_composition_is_commutative_and_associative(a: Guarantee, b: Guarantee, c: Guarantee) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)


@quick
@given(GUARANTEES, st.integers(0, 10), st.integers(0, 10))
def test_repetition_distributes(one: Guarantee, n: int, m: int) -> None:
    both = n * one + m * one
    assert both == (n + m) * one


@slow
@given(GUARANTEES, GUARANTEES)
def test_more_is_covered_by_no_less(a: Guarantee, b: Guarantee) -> None:
    assert a.covers(a)
    assert a.covers(NOTHING)
    assert Guarantee(a.rho + b.rho, min(Fraction(1), a.delta + b.delta)).covers(a)
    if a.rho > 0:
        assert not Guarantee(a.rho / 2, a.delta, a.direct).covers(Guarantee(a.rho, a.delta, a.direct))


@slow
@given(GUARANTEES, GUARANTEES, GUARANTEES)
def test_covers_is_transitive(a: Guarantee, b: Guarantee, c: Guarantee) -> None:
    big, middle = a + b + c, a + b
    assert big.covers(middle)
    assert middle.covers(a)
    assert big.covers(a)


@slow
@given(GUARANTEES, GUARANTEES)
def test_covers_both_ways_only_between_equal_statements(a: Guarantee, b: Guarantee) -> None:
    if a.covers(b) and b.covers(a):
        assert (a.rho, a.delta) == (b.rho, b.delta)
    bare, same = Guarantee(a.rho, a.delta), Guarantee(b.rho, b.delta)
    assert (bare.covers(same) and same.covers(bare)) == (bare == same)


def test_a_direct_statement_must_follow_too() -> None:
    bare = Guarantee(Fraction("0.5"), Fraction("1e-8"))
    pure = Guarantee(Fraction("0.5"), Fraction("1e-8"), EpsilonDelta(Fraction(1), Fraction("1e-8")))
    assert bare.covers(pure)
    assert not pure.covers(bare), "(1, 1e-8) does not follow from ρ = 0.5"
    wide = Guarantee(Fraction("0.5"), Fraction("1e-8"), EpsilonDelta(Fraction(7), Fraction("1e-7")))
    assert wide.covers(bare), "(7, 1e-7) follows by conversion"


@slow
@given(GUARANTEES, sizes(-20, 0).map(lambda d: d / 10), st.integers(2, 9))
def test_epsilon_falls_as_delta_grows(one: Guarantee, delta: Fraction, times: int) -> None:
    at = min(Fraction(99, 100), one.delta + delta)
    more = min(Fraction(99, 100), one.delta + times * delta)
    if one.delta < at:
        assert one.epsilon(more) <= one.epsilon(at)
        assert (2 * one).epsilon(Fraction(99, 100)) >= one.epsilon(Fraction(99, 100))


@slow
@given(RHOS, DELTAS, RHOS, DELTAS)
def test_epsilon_is_the_smaller_of_the_two_tracks(
    rho: Fraction, d: Fraction, eps: Fraction, direct_d: Fraction
) -> None:
    total = Fraction("0.97")
    one = Guarantee(rho, d, EpsilonDelta(eps, direct_d))
    converted = epsilon_cks_up(rho, total - d) if rho else Fraction(0)
    assert one.epsilon(total) == min(eps, converted)
    assert Guarantee(rho, d).epsilon(total) == converted
    assert one.implies(one.epsilon(total), total) or converted < eps


def test_the_two_tracks_compose_each_on_its_own() -> None:
    pure = Guarantee(Fraction("0.46"), Fraction("1e-9"), EpsilonDelta(Fraction(1), Fraction("1e-9")))
    bare = Guarantee(Fraction("0.5"), Fraction("1e-9"))
    assert pure + pure == Guarantee(
        Fraction("0.92"), Fraction("2e-9"), EpsilonDelta(Fraction(2), Fraction("2e-9"))
    )
    assert (pure + bare).direct is None, "a statement in ε needs one from both"
    assert (pure + NOTHING).direct == pure.direct


def test_delta_never_passes_one() -> None:
    one = Guarantee(Fraction(1), Fraction("0.4"), EpsilonDelta(Fraction(1), Fraction("0.4")))
    assert (3 * one).delta == 1 == (one + one + one).delta
    assert 3 * one == one + one + one
    with pytest.raises(InvalidArgumentError, match="ε needs a δ of its own"):
        Guarantee(Fraction(1), Fraction(1)).epsilon("0.999")


def test_floats_are_read_as_printed() -> None:
    tenth: Any = 0.1
    tiny: Any = 1e-9
    assert Guarantee(tenth, tiny) == Guarantee(Fraction(1, 10), Fraction(1, 10**9))
    assert 10 * Guarantee(tenth, tiny) == Guarantee(Fraction(1), Fraction(1, 10**8))
    assert Budget(epsilon=0.1, delta=1e-9) == Budget(epsilon="0.1", delta="1e-9")


def test_the_survey_composes_and_then_converts() -> None:
    # Two histograms, ε = 0.1 each: adding ρ first and converting once is what keeps ε at 0.75.
    one = Guarantee(Fraction("0.005"), Fraction("1e-9"))
    same_digits((2 * one).epsilon("12e-9"), "0.752325885458")
    assert (2 * one).epsilon("12e-9") < 2 * one.epsilon("6e-9")


def test_twenty_small_failures_add_up() -> None:
    # The sum is kept, not 1 - Π(1-δ): it is larger by less than its own square.
    total = (20 * Guarantee(Fraction(0), Fraction("1e-9"))).delta
    assert total == Fraction("2e-8")
    assert 0 < total - (1 - (1 - Fraction("1e-9")) ** 20) < total**2


def test_implies_is_what_conversion_says() -> None:
    one = Guarantee(Fraction("0.5"), Fraction("1e-9"))
    needed = Fraction("1e-9") + delta_cks_up("0.5", 4)
    assert one.implies(Fraction(4), needed)
    assert not one.implies(Fraction(4), needed - Fraction("1e-12"))
    assert not one.implies(Fraction(1000), Fraction("0.9e-9"))


def test_budget_says_which_way_it_counts() -> None:
    by_epsilon, by_rho = Budget(epsilon=1, delta="1e-8"), Budget(rho="0.1", delta="1e-8")
    assert (by_epsilon.epsilon, by_epsilon.rho, by_epsilon.delta) == (1, None, Fraction("1e-8"))
    assert (by_rho.epsilon, by_rho.rho, by_rho.delta) == (None, Fraction("0.1"), Fraction("1e-8"))
    assert by_rho.allows(Guarantee(Fraction("0.1"), Fraction("1e-8")))
    assert not by_rho.allows(Guarantee(Fraction("0.1000001"), Fraction("1e-8")))
    assert not by_rho.allows(Guarantee(Fraction("0.1"), Fraction("1.000001e-8")))
    assert by_epsilon.allows(Guarantee(Fraction(9), Fraction(0), EpsilonDelta(Fraction(1), Fraction("1e-8"))))
    assert by_epsilon.allows(Guarantee(Fraction("0.017"), Fraction("1e-10")))
    assert not by_epsilon.allows(Guarantee(Fraction("0.018"), Fraction("1e-10")))


BAD: list[tuple[Callable[[], object], str]] = [
    (lambda: Budget(delta=0.1), r"epsilon, rho = \(None, None\) .+ exactly one of the two\. Say Budget\("),
    (lambda: Budget(delta=0.1, epsilon=1, rho=1), r"epsilon, rho = \(1, 1\) .+ exactly one"),
    (lambda: Budget(delta=0, epsilon=1), "delta = 0 .+ above 0 and below 1/2"),
    (lambda: Budget(delta=0.5, epsilon=1), "delta = 0.5 .+ above 0 and below 1/2"),
    (lambda: Budget(delta=float("nan"), epsilon=1), "delta = nan .+ a finite number"),
    (lambda: Budget(delta=1e-8, epsilon=0), "epsilon = 0 .+ above 0"),
    (lambda: Budget(delta=1e-8, epsilon=float("inf")), "epsilon = inf .+ a finite number"),
    (lambda: Budget(delta=1e-8, rho=-1), "rho = -1 .+ above 0"),
    (lambda: Budget(delta=1e-8, rho=True), "rho = True .+ a finite number"),
    (lambda: Guarantee(Fraction(-1), Fraction(0)), "rho = -1 .+ 0 or above"),
    (lambda: Guarantee(Fraction(1), Fraction(2)), "delta = 2 .+ between 0 and 1"),
    (lambda: Guarantee(Fraction(1), Fraction(-1, 2)), "delta = -0.5 .+ between 0 and 1"),
    (lambda: EpsilonDelta(Fraction(-1), Fraction(0)), "epsilon = -1 .+ 0 or above"),
    (lambda: EpsilonDelta(Fraction(1), Fraction(3, 2)), "delta = 1.5 .+ between 0 and 1"),
    (lambda: -1 * NOTHING, "times = -1 .+ a whole number, 0 or above"),
    (lambda: NOTHING * True, "times = True .+ a whole number"),
    (
        lambda: Guarantee(Fraction(1), Fraction("1e-8")).epsilon("1e-8"),
        "at_delta = '1e-8' .+ above 1e-08 and",
    ),
    (lambda: Guarantee(Fraction(1), Fraction(0)).epsilon(0), "at_delta = 0 .+ above 0 and below 1"),
    (lambda: Guarantee(Fraction(1), Fraction(0)).epsilon(float("nan")), "at_delta = nan .+ a finite number"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message[:30] for _, message in BAD])
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        call()


def test_repetition_by_a_fraction_is_refused() -> None:
    half: Any = 0.5
    with pytest.raises(InvalidArgumentError, match=r"^times = 0\.5 .+ whole number"):
        half * Guarantee(Fraction(1), Fraction(0))
