"""A table draws more bits exactly when it must, and then takes the right side.

The bits are scripted so that the uniform number lies on the first 64, or even the first 128, bits of a boundary of
the cumulative law; the boundary is computed here to 120 digits, in another way.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from tests.fixtures.known_bits import ScriptedBits
from tests.noise.exact_laws import conditional_cdf
from tests.privacy.high_precision import mp

from unlisted.noise.bits import SequentialDraws
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import ExactLaw
from unlisted.noise.table import Table

WORD = 1 << 64
CASES: list[tuple[ExactLaw, int | None]] = [
    (DiscreteLaplace(Fraction(1)), None),
    (DiscreteLaplace(Fraction("3.7")), None),
    (DiscreteGaussian(Fraction(2)), None),
    (DiscreteGaussian(Fraction("30.5")), None),
    (DiscreteLaplace(Fraction(1)), -3),
    (DiscreteLaplace(Fraction(1)), 0),
    (DiscreteLaplace(Fraction("3.7")), 50),
    (DiscreteGaussian(Fraction(2)), -1),
    (DiscreteGaussian(Fraction(2)), 4),
    (DiscreteGaussian(Fraction("30.5")), 60),
]
cases = pytest.mark.parametrize(("law", "given"), CASES, ids=str)


def scripted(words: list[int]) -> ScriptedBits:
    """Script one draw whose uniform number starts with these 64-bit words, and nothing beyond them."""
    leading, rest = words[0] >> 48, words[0] & ((1 << 48) - 1)
    return ScriptedBits(
        np.uint16(leading).tobytes(),
        np.uint64(rest << 16).tobytes(),
        *[word.to_bytes(8, "big") for word in words[1:]],
    )


def drawn(table: Table, words: list[int]) -> int:
    """Return the value drawn from these words, all of which must have been needed."""
    bits = scripted(words)
    value = int(table.sample(SequentialDraws(1, bits))[0])
    assert bits.unused == 0, "some of the bits were not needed"
    return value


def boundaries(law: ExactLaw, given: int | None) -> Iterator[tuple[int, list[int]]]:
    """Give every z whose F(z) is told apart from 0 and 1 by 64 bits, with the first 192 bits of F(z)."""
    z = 0 if given is None else max(0, given)
    start, step = z, 1
    while True:
        bits = int(mp.floor(conditional_cdf(law, z, given) * mp.mpf(2) ** 192))
        words = [bits >> 128, bits >> 64 & (WORD - 1), bits & (WORD - 1)]
        inside = 0 < words[0] < WORD - 1
        if inside:
            yield z, words
        elif step == 1:
            z, step = start, -1
        else:
            return
        z += step


@cases
def test_on_a_boundary_more_bits_are_drawn_and_the_right_side_is_taken(law: ExactLaw, given: int | None) -> None:
    table = Table(law.tails, given)
    tested = []
    for z, (first, second, third) in boundaries(law, given):
        tested.append(z)
        assert drawn(table, [first, second - 1]) == z, "just below F(z)"
        assert drawn(table, [first, second + 1]) == z + 1, "just above F(z)"
        assert drawn(table, [first, second, third - 10**6]) == z, "below, by 128 bits and a little"
        assert drawn(table, [first, second, third + 10**6]) == z + 1, "above, by 128 bits and a little"
    assert len(tested) >= 3
    assert sorted(tested) == list(range(min(tested), max(tested) + 1)), "first and last boundary included"


@cases
def test_next_to_a_boundary_64_bits_are_enough(law: ExactLaw, given: int | None) -> None:
    table = Table(law.tails, given)
    for z, (first, _, _) in boundaries(law, given):
        if 1 << 10 < first < WORD - (1 << 10):  # else the next boundary may be next to it, too
            assert drawn(table, [first - 1]) == z
            assert drawn(table, [first + 1]) == z + 1


@cases
@pytest.mark.parametrize("words", [[0, 1 << 63], [0, 1 << 20], [WORD - 1, 1 << 63], [WORD - 1, WORD - (1 << 20)]])
def test_beyond_the_last_boundary_the_law_goes_on(law: ExactLaw, given: int | None, words: list[int]) -> None:
    # 64 zeros or 64 ones in a row are no end of the table: the far tails have their exact chance too.
    table = Table(law.tails, given)
    u = mp.mpf(words[0] * WORD + words[1]) / mp.mpf(2) ** 128
    value = drawn(table, words)
    assert conditional_cdf(law, value - 1, given) <= u < conditional_cdf(law, value, given)
    if given is None:
        assert abs(value) >= law.quantile(Fraction(1, 1 << 64)) - 1


@cases
def test_every_first_look_is_right(law: ExactLaw, given: int | None) -> None:
    """All 2^16 leading bits at once: those that hold a boundary ask for more, the others are decided at once."""
    limits = {z: mp.mpf(conditional_cdf(law, z, given)) * 65536 for z, _ in boundaries(law, given)}
    holds_a_boundary = np.zeros(1 << 16, dtype=bool)
    holds_a_boundary[[0, 65535]] = True
    for limit in limits.values():
        holds_a_boundary[int(limit)] = True
    if given is not None:
        # Nothing lies below the condition, so the first bits decide unless a boundary is among them.
        holds_a_boundary[0] = True
    leading = np.arange(1 << 16, dtype=np.uint16)
    following = np.full(int(holds_a_boundary.sum()), 1 << 63, dtype=np.uint64)
    bits = ScriptedBits(leading.tobytes(), following.tobytes())
    values = Table(law.tails, given).sample(SequentialDraws(1 << 16, bits))
    assert bits.unused == 0
    middle = np.arange(1 << 16) + 0.5
    ends = sorted(limits)
    expected = ends[0] + np.searchsorted([float(limits[z]) for z in ends], middle, side="right")
    assert np.array_equal(values, expected)


def test_the_same_value_whoever_asks_first() -> None:
    # Several draws on boundaries at once take their extra bits one after the other.
    law = DiscreteGaussian(Fraction(2))
    found = dict(boundaries(law, None))
    below, above = found[0], found[1]
    words = [below[0], above[0]]
    bits = ScriptedBits(
        np.array([word >> 48 for word in words], dtype=np.uint16).tobytes(),
        np.array([(word & ((1 << 48) - 1)) << 16 for word in words], dtype=np.uint64).tobytes(),
        (below[1] - 1).to_bytes(8, "big"),
        (above[1] + 1).to_bytes(8, "big"),
    )
    assert Table(law.tails).sample(SequentialDraws(2, bits)).tolist() == [0, 2]
    assert bits.unused == 0
