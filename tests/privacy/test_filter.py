"""A filter never overspends, whatever is asked in whatever order, and a refusal costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.high_precision import quick, sizes

from unlisted.errors import BudgetRefusedError, InvalidArgumentError
from unlisted.privacy.filter import Filter, Reservation
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

TOTAL = Guarantee(Fraction(1), Fraction("1e-6"))


@dataclass(frozen=True)
class Ask:
    """Ask for these shares of the total."""

    rho: Fraction
    delta: Fraction


@dataclass(frozen=True)
class Settle:
    """Settle one of the open reservations for these shares of its ceiling."""

    which: int
    rho: Fraction
    delta: Fraction


SHARES = st.one_of(st.just(Fraction(0)), sizes(-30, 1), st.fractions(0, 1, max_denominator=7))
STEPS = st.one_of(
    st.builds(Ask, SHARES, SHARES),
    st.builds(Settle, st.integers(0, 5), *[st.fractions(0, 1, max_denominator=5)] * 2),
)


@quick
@given(st.lists(STEPS, max_size=40))
def test_no_history_overspends(steps: list[Ask | Settle]) -> None:
    budget = Filter(TOTAL)
    open_, used = [], [Guarantee(Fraction(0), Fraction(0))]
    for step in steps:
        if isinstance(step, Settle):
            if open_:
                reservation = open_.pop(step.which % len(open_))
                ceiling = reservation.ceiling
                used.append(Guarantee(step.rho * ceiling.rho, step.delta * ceiling.delta))
                budget.settle(reservation, used[-1])
        else:
            ceiling = Guarantee(step.rho * TOTAL.rho, min(Fraction(1), step.delta * TOTAL.delta))
            left = budget.left
            fits = ceiling.rho <= left.rho and ceiling.delta <= left.delta
            if fits:
                open_.append(budget.reserve(ceiling))
            else:
                with pytest.raises(BudgetRefusedError):
                    budget.reserve(ceiling)
                assert budget.left == left, "a refusal costs nothing"
        # The filter's own account against one kept by hand.
        charged = used + [one.ceiling for one in open_]
        rho, delta = sum(one.rho for one in charged), sum(one.delta for one in charged)
        assert (budget.spent.rho, budget.spent.delta) == (rho, delta)
        assert rho <= TOTAL.rho
        assert delta <= TOTAL.delta
        assert budget.left == Guarantee(TOTAL.rho - rho, TOTAL.delta - delta)


def test_the_last_unit_fits_and_nothing_after_it() -> None:
    budget = Filter(TOTAL)
    for _ in range(10):
        budget.reserve(Guarantee(Fraction("0.1"), Fraction("1e-7")))
    assert budget.left == Guarantee(Fraction(0), Fraction(0))
    budget.reserve(Guarantee(Fraction(0), Fraction(0)))
    with pytest.raises(BudgetRefusedError):
        budget.reserve(Guarantee(Fraction(1, 10**400), Fraction(0)))
    with pytest.raises(BudgetRefusedError):
        budget.reserve(Guarantee(Fraction(0), Fraction("5e-324")))


def test_a_subnormal_spend_is_not_lost() -> None:
    # Floating-point ledgers lose it: 1.0 + 5e-324 == 1.0.
    budget = Filter(TOTAL)
    budget.reserve(Guarantee(Fraction("5e-324"), Fraction(0)))
    with pytest.raises(BudgetRefusedError):
        budget.reserve(Guarantee(Fraction(1), Fraction(0)))
    budget.reserve(Guarantee(1 - Fraction("5e-324"), Fraction(0)))
    assert budget.left.rho == 0


def test_tenths_add_up_exactly() -> None:
    # In binary, ten times 0.1 is not 1.
    budget = Filter(TOTAL)
    for _ in range(10):
        one = budget.reserve(Guarantee(Fraction("0.1"), Fraction(0)))
        budget.settle(one, one.ceiling)
    assert budget.spent.rho == 1


def test_what_was_not_used_comes_back() -> None:
    budget = Filter(TOTAL)
    one = budget.reserve(Guarantee(Fraction("0.8"), Fraction("8e-7")))
    with pytest.raises(BudgetRefusedError):
        budget.reserve(Guarantee(Fraction("0.3"), Fraction(0)))
    budget.settle(one, Guarantee(Fraction("0.5"), Fraction("8e-7")))
    assert budget.left == Guarantee(Fraction("0.5"), Fraction("2e-7"))
    budget.reserve(Guarantee(Fraction("0.3"), Fraction(0)))


def test_a_reservation_never_settled_stays_spent() -> None:
    budget = Filter(TOTAL)
    budget.reserve(TOTAL)
    assert budget.spent == TOTAL
    with pytest.raises(BudgetRefusedError):
        budget.reserve(Guarantee(Fraction("1e-9"), Fraction(0)))


def test_settling_twice_is_refused() -> None:
    budget = Filter(TOTAL)
    one = budget.reserve(Guarantee(Fraction("0.5"), Fraction(0)))
    budget.settle(one, Guarantee(Fraction("0.4"), Fraction(0)))
    with pytest.raises(InvalidArgumentError, match=r"^reservation = .+ still open"):
        budget.settle(one, Guarantee(Fraction(0), Fraction(0)))
    assert budget.spent.rho == Fraction("0.4")


def test_a_reservation_of_another_filter_is_refused() -> None:
    budget, other = Filter(TOTAL), Filter(TOTAL)
    foreign = other.reserve(Guarantee(Fraction("0.5"), Fraction(0)))
    budget.reserve(Guarantee(Fraction("0.5"), Fraction(0)))
    for forged in (foreign, Reservation(foreign.ceiling)):
        with pytest.raises(InvalidArgumentError, match=r"^reservation = "):
            budget.settle(forged, Guarantee(Fraction(0), Fraction(0)))
    assert budget.spent.rho == Fraction("0.5")


@pytest.mark.parametrize(("rho", "delta"), [("0.5001", "1e-7"), ("0.1", "1.0001e-7")])
def test_using_more_than_was_reserved_is_refused(rho: str, delta: str) -> None:
    budget = Filter(TOTAL)
    one = budget.reserve(Guarantee(Fraction("0.5"), Fraction("1e-7")))
    with pytest.raises(InvalidArgumentError, match=r"^used = .+ at most the reserved ceiling"):
        budget.settle(one, Guarantee(Fraction(rho), Fraction(delta)))
    assert budget.spent == Guarantee(Fraction("0.5"), Fraction("1e-7")), "it stays reserved"
    budget.settle(one, one.ceiling)


def test_only_rho_and_delta_are_added_up() -> None:
    pure = Guarantee(Fraction("0.1"), Fraction("1e-7"), EpsilonDelta(Fraction("0.5"), Fraction("1e-7")))
    budget = Filter(Guarantee(Fraction(1), Fraction("1e-6"), EpsilonDelta(Fraction("0.1"), Fraction(0))))
    assert budget.total.direct is None
    budget.settle(budget.reserve(pure), pure)
    assert budget.spent == Guarantee(Fraction("0.1"), Fraction("1e-7"))


def test_a_refusal_says_what_is_left_and_what_to_do() -> None:
    budget = Filter(TOTAL)
    budget.reserve(Guarantee(Fraction("0.75"), Fraction(0)))
    with pytest.raises(BudgetRefusedError) as caught:
        budget.reserve(Guarantee(Fraction("0.5"), Fraction("1e-7")))
    message = str(caught.value)
    assert "may cost ρ = 0.5 and δ = 1e-07" in message
    assert "only ρ = 0.25 and δ = 1e-06 are left" in message
    assert "nothing was charged" in message
