"""The building blocks of exact rejection: coins, coins of e^-x, and geometric numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from tests.fixtures.known_bits import KnownBits, ScriptedBits
from tests.statistical.goodness import accepts, g_test, rejects

from unlisted.noise.rejection import bernoulli, bernoulli_exp, discrete_gaussian, discrete_laplace, geometric

N = 4000


def coin(p: float) -> dict[int, float]:
    return {0: 1 - p, 1: p}


@pytest.mark.parametrize("p", ["1/2", "1/3", "5/7", "1/200", "199/200"])
def test_a_coin_of_any_fraction(p: str) -> None:
    bits = KnownBits(f"coin {p}")
    drawn = [bernoulli(Fraction(p), bits) for _ in range(10_000)]
    accepts(g_test(drawn, coin(float(Fraction(p)))))


def test_a_biased_coin_is_noticed() -> None:
    bits = KnownBits("biased")
    drawn = [bernoulli(Fraction(11, 20), bits) for _ in range(N)]
    rejects(g_test(drawn, coin(0.5)))


def test_certain_coins_need_no_luck() -> None:
    bits = KnownBits("certain")
    assert all(bernoulli(Fraction(1), bits) for _ in range(100))
    assert not any(bernoulli(Fraction(0), bits) for _ in range(100))
    assert all(bernoulli_exp(Fraction(0), bits) for _ in range(100))


@pytest.mark.parametrize("x", ["1/50", "1/3", "1", "3/2", "17/5"])
def test_a_coin_of_e_to_the_minus_x(x: str) -> None:
    bits = KnownBits(f"exp {x}")
    p = math.exp(-float(Fraction(x)))
    accepts(g_test([bernoulli_exp(Fraction(x), bits) for _ in range(N)], coin(p)))


def test_a_wrong_exponent_is_noticed() -> None:
    bits = KnownBits("wrong exponent")
    rejects(g_test([bernoulli_exp(Fraction(1, 2), bits) for _ in range(N)], coin(math.exp(-0.65))))


@pytest.mark.parametrize("x", ["1/10", "2/3", "1", "7/2"])
def test_geometric_numbers(x: str) -> None:
    q = math.exp(-float(Fraction(x)))
    bits = KnownBits(f"geometric {x}")
    last = math.ceil(30 / float(Fraction(x)))
    exact = {n: (1 - q) * q**n for n in range(last)} | {last: q**last}
    accepts(g_test([geometric(Fraction(x), bits) for _ in range(N)], exact))
    rejects(g_test([geometric(Fraction(x) * Fraction(5, 4), bits) for _ in range(N)], exact))


def test_zero_is_not_drawn_twice_as_often() -> None:
    # A sign and a size would count zero twice, as plus and as minus zero, were minus zero not drawn again.
    bits = KnownBits("zero")
    q = math.exp(-1)
    zeros = [discrete_laplace(Fraction(1), bits) == 0 for _ in range(N)]
    accepts(g_test(zeros, coin((1 - q) / (1 + q))))
    rejects(g_test(zeros, coin(1 - q)))


def test_a_tiny_scale_is_always_zero() -> None:
    bits = KnownBits("tiny")
    assert {discrete_laplace(Fraction(1, 10**300), bits) for _ in range(200)} == {0}
    assert {discrete_gaussian(Fraction(1, 10**300), bits) for _ in range(20)} == {0}


def test_bits_come_from_the_door_and_from_nowhere_else() -> None:
    with pytest.raises(AssertionError, match="script has 0 left"):
        discrete_gaussian(Fraction(1), ScriptedBits())
