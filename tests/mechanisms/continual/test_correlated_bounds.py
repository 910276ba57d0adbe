"""How far a change is carried, how wide noise gets, who is worst: bounds against brute force and the theory."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.continual.correlated_reference import followed

from unlisted.mechanisms.continual.correlated.price import (
    class_ends,
    class_of,
    lag_bounds,
    most_squares,
    response,
)
from unlisted.mechanisms.continual.correlated.recursion import Recursion

YEAR_OF_DAYS = Recursion((1046607, 1023958, 914816, 496111), (59945, 93434, 176503, 193472), 20, 10, 11)
YEAR_OF_HOURS = Recursion((1048456, 1046224, 1020162, 752154), (15448, 40099, 132888, 316638), 20, 10, 13)
"""The parameters of theory.md, as they stand there."""

SMALL = [
    Recursion((3,), (2,), 2, 1, 1),
    Recursion((3,), (1,), 2, 0, 2),
    Recursion((3, 1), (1, 1), 2, 0, 1),
    Recursion((7, 5), (2, 2), 3, 1, 1),
]


def carried(recursion: Recursion, n: list[int], at: int, by: int) -> list[int]:
    """How far the centre moves from step `at` on if the count moves by `by` there, given the same transcript.

    The centre of step t is g·x - r, and r a function of the increments' noise n = v - g·x before it.
    """
    less = [one - (by << recursion.grid) * (t == at) for t, one in enumerate(n)]
    plain, moved = (taken(recursion, one) for one in (n, less))
    shift = [a - b for a, b in zip(plain, moved, strict=True)]
    shift[at] += by << recursion.grid
    return shift[at:]


def taken(recursion: Recursion, n: list[int]) -> list[int]:
    """r of every step, as a function of n."""
    p, q = recursion.precision, recursion.guard
    states, found = [0] * len(recursion.decays), []
    for one in n:
        weighed = sum(b * s for b, s in zip(recursion.weights, states, strict=True))
        found.append((weighed + 2 ** (p + q) // 2) // 2 ** (p + q))
        states = [a * s // 2**p + one * 2**q for a, s in zip(recursion.decays, states, strict=True)]
    return found


def worst_carried(recursion: Recursion, lags: int, count: int) -> list[int]:
    """The largest shift at every lag over all histories whose numbers differ modulo what floors can see."""
    span = 1 << recursion.precision
    worst = [0] * lags
    for before in itertools.product(range(span), repeat=2):
        for later in itertools.product(range(span), repeat=lags - 2):
            shift = carried(recursion, [*before, *later, 0][: lags + 1], 1, count)
            worst = [max(a, b) for a, b in zip(worst, shift, strict=False)]
    return worst


class TestLagBounds:
    @pytest.mark.parametrize("recursion", SMALL, ids=str)
    @pytest.mark.parametrize("count", [1, 3])
    def test_no_history_moves_a_centre_farther(self, recursion: Recursion, count: int) -> None:
        lags = 4
        worst, bounds = worst_carried(recursion, lags, count), lag_bounds(recursion, lags, count)
        assert all(found <= bound for found, bound in zip(worst, bounds, strict=True))
        assert worst[:2] == list(bounds[:2]), "and the first two are met"

    @pytest.mark.parametrize("recursion", SMALL, ids=str)
    def test_bounds_that_are_rounded_down_or_one_lag_late_are_exceeded(self, recursion: Recursion) -> None:
        """Two known mistakes: floors in place of ceilings, and c_(k+1) where c_k is meant."""
        worst = worst_carried(recursion, 4, 1)
        late = lag_bounds(recursion, 5, 1)[1:]
        assert any(found > bound for found, bound in zip(worst, late, strict=True))
        if recursion in SMALL[1:3]:
            down = rounded_down(recursion, 4)
            assert any(found > bound for found, bound in zip(worst, down, strict=True))

    @given(
        st.sampled_from([YEAR_OF_DAYS, YEAR_OF_HOURS, Recursion.for_steps(64)]),
        st.lists(st.integers(-(2**21), 2**21), min_size=2, max_size=60),
        st.integers(0, 59),
        st.integers(1, 5),
    )
    def test_nor_does_any_history_of_real_parameters(
        self, recursion: Recursion, n: list[int], at: int, count: int
    ) -> None:
        shift = carried(recursion, n, at % len(n), count)
        bounds = lag_bounds(recursion, 60, count)
        assert all(0 <= found <= bound for found, bound in zip(shift, bounds, strict=False))

    @given(
        st.sampled_from([YEAR_OF_DAYS, Recursion.for_steps(64)]),
        st.lists(st.integers(-(2**21), 2**21), min_size=30, max_size=30),
        st.sets(st.integers(0, 29), min_size=1, max_size=6),
    )
    def test_several_changes_move_it_no_farther_than_their_bounds_together(
        self, recursion: Recursion, n: list[int], rounds: set[int]
    ) -> None:
        less = [one - (1 << recursion.grid) * (t in rounds) for t, one in enumerate(n)]
        bounds = lag_bounds(recursion, 30, 1)
        for t, (a, b) in enumerate(zip(taken(recursion, n), taken(recursion, less), strict=True)):
            moved = a - b + (1 << recursion.grid) * (t in rounds)
            assert 0 <= moved <= sum(bounds[t - at] for at in rounds if at <= t)

    @pytest.mark.parametrize("steps", [4, 365, 5000])
    def test_they_never_rise(self, steps: int) -> None:
        bounds = lag_bounds(Recursion.for_steps(steps), steps, 3)
        assert list(bounds) == sorted(bounds, reverse=True)


def rounded_down(recursion: Recursion, steps: int) -> list[int]:
    """The mistake: the change followed by the recursion itself, floors and all."""
    p, q = recursion.precision, recursion.guard
    states = [1 << (recursion.grid + q)] * len(recursion.decays)
    bounds = [1 << recursion.grid]
    for _ in range(steps - 1):
        bounds.append(sum(b * s for b, s in zip(recursion.weights, states, strict=True)) >> (p + q))
        states = [a * s >> p for a, s in zip(recursion.decays, states, strict=True)]
    return bounds


class TestMostSquares:
    @pytest.mark.parametrize("recursion", [*SMALL, Recursion.for_steps(8)], ids=str)
    @pytest.mark.parametrize(("steps", "every"), [(6, 1), (7, 1), (4, 2), (3, 3)])
    def test_the_first_rounds_are_the_worst(self, recursion: Recursion, steps: int, every: int) -> None:
        """All choices of up to four rounds."""
        bounds = lag_bounds(recursion, steps, 2)
        for size in range(1, 5):
            found = 0
            for rounds in itertools.combinations(range(steps * every), size):
                moved = [sum(bounds[t - r // every] for r in rounds if r // every <= t) for t in range(steps)]
                found = max(found, sum(one**2 for one in moved))
            assert most_squares(recursion, steps, 2, size, every) == found

    def test_one_event_is_the_sum_of_squares(self) -> None:
        bounds = lag_bounds(YEAR_OF_DAYS, 365, 1)
        assert most_squares(YEAR_OF_DAYS, 365, 1, 1, 1) == sum(b**2 for b in bounds)

    def test_more_rounds_than_steps_stay_in_their_steps(self) -> None:
        assert most_squares(SMALL[0], 2, 1, 5, 3) == most_squares(SMALL[0], 2, 1, 5, 3)
        bounds = lag_bounds(SMALL[0], 2, 1)
        assert most_squares(SMALL[0], 2, 1, 5, 3) == (3 * bounds[0]) ** 2 + (3 * bounds[1] + 2 * bounds[0]) ** 2


class TestTheTheory:
    """Values that theory.md prints for a year of days and a year of hours."""

    @staticmethod
    def printed_bounds(recursion: Recursion, steps: int) -> list[int]:
        """B_k by theory.md's formula; ours is never above it."""
        one, grid = 1 << recursion.precision, 1 << recursion.grid
        w = [b / one for b in recursion.weights]
        th = [a / one for a in recursion.decays]
        pairs = list(zip(w, th, strict=True))
        found = [grid]
        for k in range(1, steps):
            c = sum(a * t ** (k - 1) for a, t in pairs)
            found.append(
                int(grid * c + 1 + sum(a * (1 - t**k) / (1 - t) for a, t in pairs) / (1 << recursion.guard))
            )
        return found

    @pytest.mark.parametrize(
        ("recursion", "steps", "printed", "ours"),
        [(YEAR_OF_DAYS, 365, 12_389_844, 12_389_665), (YEAR_OF_HOURS, 8760, 265_862_893, 265_825_106)],
    )
    def test_squares(self, recursion: Recursion, steps: int, printed: int, ours: int) -> None:
        theirs, bounds = self.printed_bounds(recursion, steps), lag_bounds(recursion, steps, 1)
        assert sum(b**2 for b in theirs) == printed
        assert sum(b**2 for b in bounds) == ours
        assert all(a <= b for a, b in zip(bounds, theirs, strict=True))

    def test_the_first_bounds_and_the_last(self) -> None:
        bounds = lag_bounds(YEAR_OF_DAYS, 365, 1)
        assert (*bounds[:6], bounds[-1]) == (2048, 1023, 775, 638, 556, 501, 60)

    def test_widths(self) -> None:
        days, hours = response(YEAR_OF_DAYS, 365).widths, response(YEAR_OF_HOURS, 8760).widths
        assert float(days[class_of(10)].squares) == pytest.approx(1.79146, abs=1e-5)
        assert float(response(YEAR_OF_DAYS, 100).widths[-1].squares) == pytest.approx(2.53093, abs=1e-5)
        assert float(days[-1].squares) == pytest.approx(2.94441, abs=1e-5)
        assert float(days[-1].total) == pytest.approx(21.551, abs=1e-3)
        assert float(hours[-1].squares) == pytest.approx(3.97332, abs=1e-5)
        assert float(hours[-1].total) == pytest.approx(105.935, abs=1e-3)


class TestResponse:
    @pytest.mark.parametrize("recursion", [*SMALL, YEAR_OF_DAYS, Recursion.for_steps(10**6)], ids=str)
    def test_it_bounds_the_exact_series_from_above(self, recursion: Recursion) -> None:
        steps, one = 20, 1 << recursion.precision
        c = [Fraction(1)] + [
            sum(
                Fraction(b, one) * Fraction(a, one) ** k
                for a, b in zip(recursion.decays, recursion.weights, strict=True)
            )
            for k in range(steps)
        ]
        inverse = [Fraction(1)]
        for k in range(1, steps):
            inverse.append(-sum(c[j] * inverse[k - j] for j in range(1, k + 1)))
        beta = list(itertools.accumulate(inverse))
        assert all(number <= 0 for number in inverse[1:])
        assert beta == sorted(beta, reverse=True)
        assert beta[-1] >= 0
        found = response(recursion, steps)
        for end, width in zip(class_ends(steps), found.widths, strict=True):
            squares, total = sum(b**2 for b in beta[:end]), sum(beta[:end])
            assert squares <= width.squares <= squares * (1 + Fraction(1, 10**9))
            assert total <= width.total <= total * (1 + Fraction(1, 10**9))
        for a, size in zip(recursion.decays, found.states, strict=True):
            exact = [sum(Fraction(a, one) ** (k - j) * inverse[j] for j in range(k + 1)) for k in range(steps)]
            assert sum(map(abs, exact)) <= size <= sum(map(abs, exact)) * (1 + Fraction(1, 10**9))

    @given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=40))
    def test_noise_is_beta_times_the_draws_up_to_drift(self, z: list[int]) -> None:
        recursion = Recursion.for_steps(40)
        impulse = followed(recursion, [1 << 50] + [0] * (len(z) - 1))
        beta = np.array([step[1] for step in impulse]) / float(1 << 50)
        exact = float(np.dot(beta[::-1], np.array(z, dtype=float)))
        drift = float(recursion.drift * response(recursion, len(z)).widths[-1].total)
        assert abs(followed(recursion, z)[-1][1] - exact) <= drift + 1e-6 * math.fsum(map(abs, z)) / 10**6 + 1e-6


class TestClasses:
    @pytest.mark.parametrize("steps", [1, 5, 31, 32, 33, 365, 4096, 8760])
    def test_every_step_has_one_and_they_end_where_they_say(self, steps: int) -> None:
        ends = class_ends(steps)
        places = [class_of(t) for t in range(1, steps + 1)]
        assert places == sorted(places)
        assert sorted(set(places)) == list(range(len(ends)))
        assert [max(t for t in range(1, steps + 1) if places[t - 1] == i) for i in range(len(ends))] == list(ends)

    def test_classes_are_narrow(self) -> None:
        ends = class_ends(1 << 20)
        assert len(ends) < 300
        assert all(b - a <= max(1, a / 15) for a, b in itertools.pairwise(ends))
