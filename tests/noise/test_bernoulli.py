"""Coins of irrational probability: decided by as many bits as it takes, and by no rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits, ScriptedBits
from tests.noise.exact_laws import bounds_of
from tests.privacy.high_precision import mp
from tests.statistical.goodness import accepts, g_test, mean_test, rejects

from unlisted.noise.bernoulli import bernoulli, bernoulli_many
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian

WORD = 1 << 64


def words_of(p: Fraction) -> list[int]:
    """Return the first 256 bits of a probability as four words."""
    bits = math.floor(p * (1 << 256))
    return [bits >> 192, bits >> 128 & (WORD - 1), bits >> 64 & (WORD - 1), bits & (WORD - 1)]


def scripted(*words: int) -> ScriptedBits:
    return ScriptedBits(*[word.to_bytes(8, "big") for word in words])


PROBABILITIES = [Fraction(1, 3), Fraction(10**30, 3 * 10**30 + 7), Fraction(2, 7) / 2**70, 1 - Fraction(1, 10**25)]


@pytest.mark.parametrize("p", PROBABILITIES)
@pytest.mark.parametrize("slack", [0, 1000])
def test_on_the_probability_more_bits_are_drawn_and_the_right_side_is_taken(p: Fraction, slack: int) -> None:
    first, second, third, _ = words_of(p)
    coin = bounds_of(p, slack)
    for words, expected in (
        ((first, second - 1), True),
        ((first, second + 1), False),
        ((first, second, third - 1), True),
        ((first, second, third + 1), False),
    ):
        bits = scripted(*words)
        assert bernoulli(coin, bits) is expected
        assert bits.unused == 0


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(6, 7)])
def test_away_from_the_probability_one_word_is_enough(p: Fraction) -> None:
    first = words_of(p)[0]
    assert bernoulli(bounds_of(p), scripted(first - 1)) is True
    assert bernoulli(bounds_of(p), scripted(first + 1)) is False


@pytest.mark.parametrize("p", PROBABILITIES[:2])
def test_many_coins_refine_only_the_unsure_ones(p: Fraction) -> None:
    first, second, _, _ = words_of(p)
    drawn = np.array([first - 5, first, first + 5, first, 0, WORD - 1], dtype=np.uint64)
    bits = ScriptedBits(drawn.tobytes(), (second - 1).to_bytes(8, "big"), (second + 1).to_bytes(8, "big"))
    assert bernoulli_many(bounds_of(p), len(drawn), bits) == 3
    assert bits.unused == 0


def test_certain_and_impossible_coins() -> None:
    bits = KnownBits("certain")
    assert bernoulli_many(bounds_of(Fraction(1)), 1000, bits) == 1000
    assert bernoulli_many(bounds_of(Fraction(0)), 1000, bits) == 0
    top = ScriptedBits(np.array([WORD - 1], dtype=np.uint64).tobytes())
    assert bernoulli_many(bounds_of(Fraction(1)), 1, top) == 1
    assert bernoulli_many(bounds_of(Fraction(1, 2)), 0, ScriptedBits()) == 0


def test_a_coin_of_a_tail_has_that_tail() -> None:
    coin = DiscreteGaussian(Fraction(9)).tail_bounds(4)
    p = float(mp.mpf(coin(200)[0]) / 2**200)
    bits = KnownBits("tail coin")
    drawn = [bernoulli(coin, bits) for _ in range(8000)]
    accepts(g_test(drawn, {0: 1 - p, 1: p}))
    rejects(g_test(drawn, {0: 1 - 1.3 * p, 1: 1.3 * p}))


def test_many_coins_have_their_probability() -> None:
    coin = DiscreteLaplace(Fraction(2)).tail_bounds(3)
    p = math.exp(-1.5) / (1 + math.exp(-0.5))
    n = 600_000
    counted = bernoulli_many(coin, n, KnownBits("many coins"))
    accepts(mean_test(np.repeat([1, 0], [counted, n - counted]), p, p * (1 - p)))
    rejects(mean_test(np.repeat([1, 0], [counted, n - counted]), 1.02 * p, p * (1 - p)))


def test_bounds_of_tails_close_in() -> None:
    coin = DiscreteLaplace(Fraction(3)).tail_bounds(5)
    widths = [Fraction(coin(precision)[1] - coin(precision)[0], 1 << precision) for precision in (128, 256, 512)]
    assert widths[0] < Fraction(1, 2**100) > widths[1] * 2**100 > widths[2] * 2**300 > 0
