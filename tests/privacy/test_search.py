"""Two searches: a valley in floating point, and the first whole number from which a condition holds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.privacy.high_precision import quick

from unlisted.privacy.search import lowest_point, smallest


@quick
@given(st.floats(-9, 9))
def test_the_lowest_point_of_a_valley(bottom: float) -> None:
    assert lowest_point(lambda y: (y - bottom) ** 2, -10, 10, steps=60) == pytest.approx(bottom, abs=1e-6)


def test_a_valley_at_the_end() -> None:
    assert lowest_point(lambda y: y, -10, 10, steps=60) == pytest.approx(-10, abs=1e-6)
    assert lowest_point(lambda y: -y, -10, 10, steps=60) == pytest.approx(10, abs=1e-6)


def test_a_valley_with_an_infinite_floor_is_survived() -> None:
    assert -1 <= lowest_point(lambda y: -math.inf if y > 0 else 1.0, -1, 1, steps=20) <= 1


@quick
@given(st.integers(-50, 10**6), st.integers(0, 10**6))
def test_the_smallest_number(start: int, distance: int) -> None:
    asked = []

    def holds(n: int) -> bool:
        asked.append(n)
        return n >= start + distance

    assert smallest(holds, start) == start + distance
    assert min(asked) == start
    assert len(asked) <= 2 * distance.bit_length() + 2
