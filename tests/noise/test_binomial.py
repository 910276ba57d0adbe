"""Exact Binomial counts, by halving and without, and exact uniform subsets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from tests.fixtures.known_bits import KnownBits, ScriptedBits
from tests.noise.exact_laws import bounds_of
from tests.statistical.goodness import accepts, as_numbers, distance_test, g_test, rejects

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bernoulli import binomial, subset
from unlisted.noise.discrete_laplace import DiscreteLaplace

DRAWS = 2000


def exact(n: int, p: float) -> dict[int, float]:
    found = stats.binom.pmf(np.arange(min(n, 400) + 1), n, p)
    return {k: mass for k, mass in enumerate((found / found.sum()).tolist()) if mass > 1e-18}


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (1, "1/3"),
        (9, "1/2"),
        (9, "2/3"),  # above 1/2: no halving at all
        (50, "99/100"),
        (50, "1/4"),  # exactly two halvings
        (50, "1/5"),
        (300, "1/100"),
        (2000, "1/1999"),
    ],
)
def test_counts_are_binomial(n: int, p: str) -> None:
    bits = KnownBits(f"binomial {n} {p}")
    drawn = [binomial(n, bounds_of(Fraction(p)), bits) for _ in range(DRAWS)]
    accepts(g_test(drawn, exact(n, float(Fraction(p)))), distance_test(drawn, exact(n, float(Fraction(p)))))


@pytest.mark.parametrize("p", ["2/3", "1/9"])
def test_a_slightly_wrong_probability_is_noticed(p: str) -> None:
    bits = KnownBits(f"wrong binomial {p}")
    drawn = [binomial(100, bounds_of(Fraction(p) * Fraction(95, 100)), bits) for _ in range(DRAWS)]
    rejects(g_test(drawn, exact(100, float(Fraction(p)))))


def test_a_tiny_probability_of_many() -> None:
    n = 10**5
    coin = DiscreteLaplace(Fraction(1)).tail_bounds(11)
    p = float(Fraction(coin(128)[0], 1 << 128))
    assert 1e-6 < p < 2e-5
    bits = KnownBits("tiny")
    drawn = [binomial(n, coin, bits) for _ in range(DRAWS)]
    accepts(g_test(drawn, exact(n, p)))
    rejects(g_test(drawn, exact(n, 1.25 * p)))


def test_a_probability_below_every_bound_is_still_counted() -> None:
    # 2^-300 of ten labels: the halvings end with nobody left, long before any sharper bound is needed.
    assert binomial(10, bounds_of(Fraction(1, 2**300)), KnownBits("never")) == 0
    assert binomial(10**7, DiscreteLaplace(Fraction(1)).tail_bounds(10**6), KnownBits("never")) == 0


def test_certain_impossible_and_nobody() -> None:
    assert binomial(1000, bounds_of(Fraction(1)), KnownBits("all")) == 1000
    assert binomial(1000, bounds_of(Fraction(0)), KnownBits("none")) == 0
    assert binomial(0, bounds_of(Fraction(1, 2)), ScriptedBits()) == 0


def test_heads_of_many_blocks_are_all_counted() -> None:
    # More flips than fit into one block of bits; 50 blocks of deviation would be noticed.
    n = (1 << 23) + 11
    heads = binomial(n, bounds_of(Fraction(1, 4)), KnownBits("blocks"))
    assert abs(heads - n / 4) < 5 * (n * 3 / 16) ** 0.5


def test_the_halving_path_and_the_plain_path_agree() -> None:
    bits = KnownBits("paths")
    quarter = [binomial(40, bounds_of(Fraction(1, 4)), bits) for _ in range(DRAWS)]
    rest = [40 - binomial(40, bounds_of(Fraction(3, 4)), bits) for _ in range(DRAWS)]
    accepts(g_test(quarter, exact(40, 0.25)), g_test(rest, exact(40, 0.25)))


@pytest.mark.parametrize(("n", "size"), [(2, 1), (4, 2), (5, 1), (5, 2), (5, 4), (7, 3)])
def test_subsets_are_uniform(n: int, size: int) -> None:
    bits = KnownBits(f"subset {n} {size}")
    law = dict.fromkeys(combinations(range(n), size), 1.0)
    law = {one: 1 / len(law) for one in law}
    accepts(g_test(*as_numbers([tuple(subset(n, size, bits).tolist()) for _ in range(4000)], law)))


def test_a_lopsided_subset_is_noticed() -> None:
    # The first number is drawn from too short a range.
    bits = KnownBits("lopsided")
    law = dict.fromkeys(combinations(range(5), 2), 1 / 10)

    def wrong() -> tuple[int, ...]:
        first = bits.below(4)
        second = bits.below(5)
        while second == first:
            second = bits.below(5)
        return tuple(sorted((first, second)))

    rejects(g_test(*as_numbers([wrong() for _ in range(4000)], law)))


def test_subsets_at_their_ends() -> None:
    assert subset(5, 0, ScriptedBits()).tolist() == []
    assert subset(0, 0, ScriptedBits()).tolist() == []
    assert subset(6, 6, KnownBits("all")).tolist() == [0, 1, 2, 3, 4, 5]
    large = subset(10**12, 500, KnownBits("large"))
    assert large.dtype == np.int64
    assert len(set(large.tolist())) == 500
    assert np.all(np.diff(large) > 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: subset(3, 4, ScriptedBits()), "size = 4 .+ between 0 and 3"),
        (lambda: subset(3, -1, ScriptedBits()), "size = -1 .+ between 0 and 3"),
        (lambda: binomial(-1, bounds_of(Fraction(1, 2)), ScriptedBits()), "n = -1 .+ a whole number, 0 or above"),
        (lambda: binomial(1.5, bounds_of(Fraction(1, 2)), ScriptedBits()), "n = 1.5 .+ a whole number"),
    ],
)
def test_bad_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        call()
