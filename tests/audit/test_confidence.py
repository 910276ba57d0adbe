"""Clopper-Pearson bounds: equal to the textbook's to many digits, and never on the wrong side of it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unlisted.audit.confidence import chance_high, chance_low
from unlisted.errors import InvalidArgumentError

CASES = [
    (0, 10, 1e-6),
    (1, 1, 0.01),
    (5, 10, 1e-6),
    (10, 10, 1e-3),
    (63, 64, 0.01),
    (64, 1000, 1e-6),
    (65, 130, 0.2),
    (1, 10**7, 1e-9),
    (5000, 10**7, 1e-9),
    (5 * 10**6, 10**7, 1e-9),
    (99_999, 100_000, 1e-7),
]


@pytest.mark.parametrize(("successes", "runs", "alpha"), CASES)
def test_bounds_are_the_textbook_s(successes: int, runs: int, alpha: float) -> None:
    low, high = chance_low(successes, runs, alpha), chance_high(successes, runs, alpha)
    # The textbook's quantiles of the beta law, from a library that promises about ten digits.
    exact_low = stats.beta.ppf(alpha, successes, runs - successes + 1) if successes else 0.0
    exact_high = stats.beta.isf(alpha, successes + 1, runs - successes) if successes < runs else 1.0
    assert float(low) == pytest.approx(exact_low, rel=1e-8, abs=0)
    assert float(high) == pytest.approx(exact_high, rel=1e-8, abs=0)


@settings(max_examples=25)
@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(1, 30))
def test_bounds_keep_their_promise_exactly(case: tuple[int, int], digits: int) -> None:
    """With exact rationals: at the lower bound so many successes are at most α likely, and alike at the upper."""
    (successes, runs), alpha = case, Fraction(1, 2 ** (digits + 1))
    low, high = chance_low(successes, runs, alpha), chance_high(successes, runs, alpha)
    assert 0 <= low < Fraction(successes, runs) or successes == 0 == low
    assert Fraction(successes, runs) < high <= 1 or successes == runs
    assert successes == 0 or _at_least(successes, runs, low) <= alpha
    assert successes == runs or 1 - _at_least(successes + 1, runs, high) <= alpha


def test_bounds_are_no_wider_than_needed() -> None:
    """A little farther in, the tail is above α: the bounds are the best there are."""
    alpha = Fraction(1, 1000)
    low, high = chance_low(7, 40, alpha), chance_high(7, 40, alpha)
    assert _at_least(7, 40, low * Fraction(100_001, 100_000)) > alpha
    assert 1 - _at_least(8, 40, high * Fraction(99_999, 100_000)) > alpha


@pytest.mark.parametrize(
    ("successes", "runs", "alpha"), [(-1, 5, 0.1), (6, 5, 0.1), (1, 0, 0.1), (1, 5, 0), (1, 5, 0.5)]
)
def test_what_is_no_count_or_no_risk_is_refused(successes: int, runs: int, alpha: float) -> None:
    for bound in (chance_low, chance_high):
        with pytest.raises(InvalidArgumentError):
            bound(successes, runs, alpha)


def _at_least(k: int, n: int, p: Fraction) -> Fraction:
    return sum((math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1)), start=Fraction(0))
