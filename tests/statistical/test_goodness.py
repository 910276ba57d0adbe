"""The judge is judged first: it accepts what is right about as often as it says, and notices what is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.fixtures.known_bits import KnownBits
from tests.statistical.goodness import (
    ALPHA,
    Verdict,
    accepts,
    as_numbers,
    distance_test,
    g_test,
    mean_test,
    moments,
    rejects,
    same_law_test,
)

DIE = dict.fromkeys(range(1, 7), 1 / 6)
LOADED = {1: 0.16, 2: 1 / 6, 3: 1 / 6, 4: 1 / 6, 5: 1 / 6, 6: 1 / 3 - 0.16}


def rolls(name: str, n: int, masses: dict[int, float]) -> np.ndarray:
    cumulative = np.cumsum(list(masses.values()))
    uniform = KnownBits(name).words(n) / 2.0**64
    return np.array(list(masses))[np.minimum(np.searchsorted(cumulative, uniform, side="right"), len(masses) - 1)]


def test_a_fair_die_is_accepted() -> None:
    drawn = rolls("fair", 200_000, DIE)
    accepts(g_test(drawn, DIE), distance_test(drawn, DIE), mean_test(drawn, *moments(DIE)))
    accepts(same_law_test(drawn, rolls("another", 50_000, DIE)))


def test_a_loaded_die_is_rejected() -> None:
    drawn = rolls("loaded", 200_000, LOADED)
    rejects(g_test(drawn, DIE), distance_test(drawn, DIE), mean_test(drawn, *moments(DIE)))
    rejects(same_law_test(drawn, rolls("fair", 200_000, DIE)))


def test_an_impossible_value_is_rejected_however_rare() -> None:
    drawn = rolls("fair", 10_000, DIE)
    rejects(g_test(np.append(drawn, 7), DIE), g_test(np.append(drawn, 0), DIE))
    rejects(g_test([2], {1: 0.5, 2: 0.0, 3: 0.5}))


def test_the_statistic_is_chi_square_when_nothing_is_wrong() -> None:
    drawn = rolls("many dice", 400_000, DIE).reshape(1000, 400)
    statistics = [g_test(row, DIE).statistic for row in drawn]
    assert stats.kstest(statistics, stats.chi2(5).cdf).pvalue > ALPHA
    assert g_test(drawn[0], DIE).bound == pytest.approx(stats.chi2.isf(1e-6, 5))


def test_rare_values_are_pooled_and_still_count() -> None:
    masses = {z: 2.0 ** -(z + 1) for z in range(60)}
    masses[59] *= 2
    halves = np.array([bin(int(word) | 1 << 59)[::-1].index("1") for word in KnownBits("halves").words(2000)])
    verdict = g_test(halves, masses)
    accepts(verdict)
    assert "7 degrees" in verdict.test
    rejects(g_test(np.append(halves, np.full(40, 30)), masses))


def test_masses_that_are_no_law_are_refused() -> None:
    with pytest.raises(ValueError, match="add up to"):
        g_test([1, 2], {1: 0.5, 2: 0.4})
    with pytest.raises(ValueError, match="too few draws"):
        g_test([1, 2], {1: 0.5, 2: 0.5})


def test_messages_carry_statistic_and_bound() -> None:
    verdict = Verdict("G", 12.5, 10.25, 100)
    with pytest.raises(AssertionError, match=r"G: 12\.5 exceeds 10\.25 \(100 draws, α = 1e-06\)"):
        accepts(verdict)
    with pytest.raises(AssertionError, match=r"no power: G: 9\.5 is within 10\.25"):
        rejects(Verdict("G", 9.5, 10.25, 100))
    assert Verdict("G", math.nan, 1.0, 1).rejected


def test_outcomes_of_any_kind_can_be_numbered() -> None:
    numbers, masses = as_numbers(["b", "a", "c"], {"a": 0.25, "b": 0.75})
    assert numbers == [0, 1, -1]
    assert masses == {0: 0.75, 1: 0.25}
