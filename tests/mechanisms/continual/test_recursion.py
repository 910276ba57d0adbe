"""The recursion in 64-bit integers against Python's integers, its room, and the parameters that are shipped."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.mechanisms.continual.correlated_reference import followed

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.correlated.price import most_of, require_room, response
from unlisted.mechanisms.continual.correlated.recursion import LONGEST, Recursion

TINY = Recursion((3, 1), (1, 1), 2, 1, 3)
SHIPPED = {exponent: Recursion.for_steps(1 << exponent) for exponent in range(2, 21)}


def run(recursion: Recursion, z: np.ndarray) -> np.ndarray:
    """W and S after every step of every column of draws."""
    numbers, found = recursion.start(z.shape[1]), []
    for row in z:
        recursion.advance(numbers, row)
        found.append(numbers.copy())
    return np.stack(found)


def plain_run(recursion: Recursion, z: np.ndarray) -> np.ndarray:
    columns = [[step[1:] for step in followed(recursion, column.tolist())] for column in z.T]
    return np.array(columns, dtype=object).transpose(1, 2, 0)


@given(
    st.sampled_from([TINY, SHIPPED[2], SHIPPED[9], SHIPPED[14], SHIPPED[20]]),
    st.lists(st.lists(st.integers(-(2**28), 2**28), min_size=3, max_size=3), min_size=1, max_size=30),
)
def test_it_is_the_recursion_of_whole_numbers(recursion: Recursion, rows: list[list[int]]) -> None:
    z = np.array(rows, dtype=np.int64)
    assert np.array_equal(run(recursion, z), plain_run(recursion, z))


def test_noise_on_counts_is_rounded_to_the_grid() -> None:
    numbers = TINY.start(7)
    numbers[0] = [-13, -12, -4, 3, 4, 11, 12]
    assert TINY.on_counts(numbers).tolist() == [-2, -1, 0, 0, 1, 1, 2]


class TestShippedParameters:
    @pytest.mark.parametrize("exponent", SHIPPED)
    def test_they_are_close_to_the_square_root_of_prefix_sums(self, exponent: int) -> None:
        """The best known factorisation; four buffers lose 0.1 % up to 8192 steps and 1.6 % at a million."""
        recursion, steps = SHIPPED[exponent], 1 << exponent
        w, th = (np.array(part) / 2.0**recursion.precision for part in (recursion.weights, recursion.decays))
        c = np.concatenate([[1.0], *(np.array([np.sum(w * th**k)]) for k in range(min(steps, 1 << 11) - 1))])
        if steps > len(c):
            k = np.arange(len(c) - 1, steps - 1)
            c = np.concatenate([c, sum(wi * thi**k for wi, thi in zip(w, th, strict=True))])
        root = np.cumprod(np.concatenate([[1.0], 1 - 0.5 / np.arange(1, steps)]))
        width = float(response(recursion, steps).widths[-1].squares)
        ratio = math.sqrt(float(np.sum(c**2)) * width) / float(np.sum(root**2))
        assert ratio < {True: 1.0012, False: 1.0170}[exponent <= 13]
        assert ratio > 0.99999

    def test_a_stream_takes_those_of_the_next_power_of_two(self) -> None:
        assert Recursion.for_steps(1) is Recursion.for_steps(3) is SHIPPED[2]
        assert Recursion.for_steps(365) is SHIPPED[9]
        assert Recursion.for_steps(512) is SHIPPED[9]
        assert Recursion.for_steps(513) is SHIPPED[10]
        with pytest.raises(InvalidArgumentError, match="Release less often"):
            Recursion.for_steps(LONGEST + 1)

    def test_no_two_have_one_name(self) -> None:
        several = [*SHIPPED.values(), TINY, TINY.coarser(2)]
        assert len({one.encoded() for one in several}) == len(several)


class TestRoom:
    """No number on the way leaves 64 bits, whatever the draws are."""

    @pytest.mark.parametrize("exponent", [2, 6, 9])
    def test_the_worst_draws_stay_below_the_bound(self, exponent: int) -> None:
        """Draws with the signs of each number's own response make it as large as it can be."""
        recursion, steps, reach = SHIPPED[exponent], 1 << exponent, 10**6
        one, q, p = 1 << recursion.precision, recursion.guard, recursion.precision
        impulse = np.array([step[1:] for step in followed(recursion, [1 << 40] + [0] * (steps - 1))], dtype=object)
        largest = 0
        for column in impulse.T:
            z = [reach if number > 0 else -reach for number in column[::-1]]
            for signed in (z, [-number for number in z]):
                *_, (_, total, *states) = followed(recursion, signed)
                products = [b * s for b, s in zip(recursion.weights, states, strict=True)]
                lost = [(one - a) * s for a, s in zip(recursion.decays, states, strict=True)]
                largest = max(largest, *map(abs, [total, *states, *products, *lost, sum(products)]))
        assert largest <= most_of(recursion, steps, reach)
        assert largest > most_of(recursion, steps, reach) / 4, "and the bound is not idle"
        assert largest < 1 << (p + q + 24)

    def test_the_largest_reach_with_room_is_exact_and_one_without_is_refused(self) -> None:
        recursion, steps = SHIPPED[9], 512
        reach = 1
        while most_of(recursion, steps, 2 * reach) < 2**63:
            reach *= 2
        require_room(recursion, steps, reach)
        impulse = [step[2] for step in followed(recursion, [1 << 40] + [0] * (steps - 1))]
        z = np.array([[reach, -reach] if number > 0 else [-reach, reach] for number in impulse[::-1]])
        assert np.array_equal(run(recursion, z), plain_run(recursion, z))
        with pytest.raises(InvalidArgumentError, match="Take a coarser grid"):
            require_room(recursion, steps, 4 * reach)


class TestRefusals:
    @pytest.mark.parametrize(
        ("decays", "weights", "wrong"),
        [
            ((), (), "at least one"),
            ((3,), (1, 1), "as many numbers"),
            ((4,), (1,), "below 2\\^precision"),
            ((0,), (1,), "decays = 0"),
            ((3,), (0,), "weights = 0"),
            ((3, 3), (3, 3), "add up to at most 4"),
            ((1,), (2,), "c_1² <= c_2"),
            ((3,), (1.5,), "weights = 1.5"),
        ],
    )
    def test_parameters_that_the_proof_does_not_cover(self, decays: tuple, weights: tuple, wrong: str) -> None:
        with pytest.raises(InvalidArgumentError, match=wrong):
            Recursion(decays, weights, 2, 1, 3)

    @pytest.mark.parametrize("name", ["precision", "guard", "grid"])
    def test_shifts_that_are_too_wide(self, name: str) -> None:
        shifts = {"precision": 2, "guard": 1, "grid": 3} | {name: 33}
        with pytest.raises(InvalidArgumentError, match=f"{name} = 33"):
            Recursion((3,), (1,), **shifts)

    def test_drift_is_half_and_what_floors_lose(self) -> None:
        assert TINY.drift == Fraction(1, 2) + (Fraction(1, 1) + Fraction(1, 3)) / 2
