"""The worst of many cases: never below any of them, hardly above the worst, and few are looked at."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from unlisted.privacy.search import worst_case_up

HAIR = Fraction(257, 256)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60))
def test_with_bounds_that_are_exact_it_is_within_a_hair_of_the_worst(cases: list[int]) -> None:
    found = worst_case_up(0, len(cases) - 1, lambda low, high: Fraction(max(cases[low : high + 1])))
    assert found == max(cases)


@given(st.integers(1, 400), st.integers(0, 400), st.integers(1, 50))
def test_with_loose_bounds_it_is_never_below_and_hardly_above(last: int, top: int, steepness: int) -> None:
    """Cases rise to a top and fall; a range is bounded by what rises at its end and what falls at its start."""

    def bound(low: int, high: int) -> Fraction:
        return Fraction(min(high, top) + 1, max(0, low - top) * steepness + 1)

    worst = max(bound(case, case) for case in range(1, last + 1))
    assert worst <= worst_case_up(1, last, bound) <= worst * HAIR


def test_a_million_cases_are_not_all_looked_at() -> None:
    asked = []

    def bound(low: int, high: int) -> Fraction:
        asked.append((low, high))
        return Fraction(high, (low + 5000) ** 2)

    found = worst_case_up(1, 10**6, bound)
    assert Fraction(5000, 10**8) <= found <= Fraction(5000, 10**8) * HAIR
    assert len(asked) < 10**5


def test_one_case_is_its_own_worst() -> None:
    assert worst_case_up(7, 7, lambda low, high: Fraction(low + high)) == 14
