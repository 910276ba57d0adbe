"""The survey's continuous formulas agree with the reference values of the theory, to the digits given."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from scipy import optimize, stats
from tests.privacy.high_precision import same_digits

from unlisted.privacy.survey import (
    analytic_gaussian_sigma,
    binary_threshold,
    continuous_laplace_rho,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_threshold,
    gumbel_threshold,
    laplace_threshold,
    normal_upper_quantile,
    per_label_failure,
    sparse_histogram_delta,
    top_gaussian_threshold,
    top_laplace_tail,
)

SHAPES = [(1.0, 1e-8, 10, 1), (0.1, 1e-10, 100, 1), (0.5, 1e-6, 3, 5)]
LAPLACE = [
    ("21.0301186564", "21.0301186519"),
    ("270.378739354", "270.378739353"),
    ("147.209756661", "147.209753327"),
]
GAUSSIAN = [
    ("6.99780701501", "6.99780701428"),
    ("71.3448382530", "71.3448382529"),
    ("54.7083063672", "54.7083057210"),
]


@pytest.mark.parametrize(("threshold", "printed"), [(laplace_threshold, LAPLACE), (gaussian_threshold, GAUSSIAN)])
def test_histogram_thresholds(threshold: Callable[..., float], printed: list[tuple[str, str]]) -> None:
    for (epsilon, delta, items, count), (union, exact) in zip(SHAPES, printed, strict=True):
        same_digits(threshold(epsilon, delta / items, count), union)
        same_digits(threshold(epsilon, per_label_failure(delta, items), count), exact)


def test_histogram_thresholds_of_one_item() -> None:
    same_digits(laplace_threshold(1, 1e-8), "18.7275335634")
    same_digits(gaussian_threshold(1, 1e-8), "6.61200124418")


def test_top_histogram_thresholds() -> None:
    same_digits(top_gaussian_threshold(1, 1e-8), "8.93656827157")
    same_digits(top_gaussian_threshold(1, 1e-9), "9.48218002512")
    same_digits(top_gaussian_threshold(0.25, 1e-8), "32.7462730863")


@pytest.mark.parametrize(
    ("epsilon", "failure", "threshold"), [(1.0, 1e-8, "21.1313830307"), (0.5, 5e-7, "33.0269679279")]
)
def test_top_histogram_thresholds_with_laplace_noise(epsilon: float, failure: float, threshold: str) -> None:
    def log_excess(t: float) -> float:
        return math.log(top_laplace_tail(t, 1 / epsilon)) - math.log(failure)

    same_digits(1 + optimize.brentq(log_excess, 1, 100, xtol=1e-13), threshold)


@pytest.mark.parametrize(
    ("epsilon", "delta", "entering", "count", "survey", "tight"),
    [
        (1, 1e-8, 1, 1, "19.4206807440", "19.4206807340"),
        (1, 1e-8, 100, 1, "24.0258509299", "24.0258509199"),
        (0.1, 1e-10, 1000, 1, "300.336062089", "300.336062088"),
        (0.5, 1e-6, 10, 3, "99.7085739058", "99.7085679058"),
    ],
)
def test_gumbel_thresholds(
    epsilon: float, delta: float, entering: int, count: int, survey: str, tight: str
) -> None:
    same_digits(gumbel_threshold(epsilon, delta, entering, count), survey)
    same_digits(gumbel_threshold(epsilon, delta / (1 - delta), entering, count), tight)


@pytest.mark.parametrize(
    ("epsilon", "items", "rounds", "statement", "proof", "floor"),
    [
        (1, 1, 365, "21.7359705763", "20.6718689546", "19.5468159152"),
        (0.1, 10, 365, "218.962102279", "207.777006040", "195.951230886"),
        (1, 1, 1_000_000, "36.0595823498", "35.2146489728", "34.3483147117"),
    ],
)
def test_binary_thresholds(
    epsilon: float, items: int, rounds: int, statement: str, proof: str, floor: str
) -> None:
    # The survey states sqrt(m + 1) and proves sqrt(m); the largest popcount, floor(log2(L + 1)), suffices.
    nodes = math.ceil(math.log2(rounds + 1))
    same_digits(binary_threshold(epsilon, 1e-8, items, rounds, nodes + 1), statement)
    same_digits(binary_threshold(epsilon, 1e-8, items, rounds, nodes), proof)
    same_digits(binary_threshold(epsilon, 1e-8, items, rounds, math.floor(math.log2(rounds + 1))), floor)


@pytest.mark.parametrize(
    ("epsilon", "rho"), [(0.1, "0.00483741803596"), (1, "0.367879441171"), (2, "1.13533528324")]
)
def test_continuous_laplace_rho(epsilon: float, rho: str) -> None:
    same_digits(continuous_laplace_rho(epsilon), rho)


def test_sparse_histogram() -> None:
    same_digits(sparse_histogram_delta(1, 5.2, 30, 1), "1.22405028110e-8")
    same_digits(sparse_histogram_delta(1, 16.5, 98, 10), "2.06640779801e-8")


def test_the_sparse_histogram_is_tighter_than_adding_up() -> None:
    # A new label costs δ or ρ, never both.
    apart = gaussian_delta(1 / 5.2, 1) + stats.norm.sf(29 / 5.2)
    assert gaussian_delta(1 / 5.2, 1) <= sparse_histogram_delta(1, 5.2, 30, 1) < apart


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"), [(1.0, 1e-8, "5.10030878753"), (0.5, 1e-6, "8.05761848073")]
)
def test_analytic_gaussian_sigma(epsilon: float, delta: float, sigma: str) -> None:
    same_digits(analytic_gaussian_sigma(epsilon, delta), sigma)


def test_the_sign_inside_the_analytic_gaussian_is_right() -> None:
    # Another library had this sign wrong: the two halves of the formula are not alike.
    sigma, epsilon = 5.10030878753, 1.0
    wrong = stats.norm.cdf(0.5 / sigma + epsilon * sigma) - math.e * stats.norm.cdf(0.5 / sigma - epsilon * sigma)
    assert gaussian_delta(1 / sigma, epsilon) == pytest.approx(1e-8, rel=1e-9)
    assert wrong > 0.9
    assert analytic_gaussian_sigma(2, 1e-8) < analytic_gaussian_sigma(1, 1e-8) < analytic_gaussian_sigma(1, 1e-9)


def test_the_classical_gaussian_formula_fails_above_epsilon_one() -> None:
    # sqrt(2·log(1.25/δ))/ε is a theorem for ε < 1 only; elsewhere it was used at any ε.
    epsilon, delta = 20.0, 1e-5
    classical = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert gaussian_delta(1 / classical, epsilon) > 2 * delta
    assert analytic_gaussian_sigma(epsilon, delta) > classical


@pytest.mark.parametrize("p", [0.3, 1e-8, 1e-16, 1e-17, 1e-30, 1e-300])
def test_upper_quantiles_never_form_one_minus_p(p: float) -> None:
    # 1 - 1e-17 is 1 in floating point, and its quantile infinite.
    assert normal_upper_quantile(p) == pytest.approx(stats.norm.isf(p), rel=1e-12)


def test_per_label_failure_is_at_least_the_union_bound() -> None:
    assert per_label_failure(1e-8, 10) >= 1e-9
    assert per_label_failure(1e-8, 10) == pytest.approx(1e-9, rel=1e-7)
    assert per_label_failure(1e-300, 7) == pytest.approx(1e-300 / 7, rel=1e-12)


def test_a_large_epsilon_does_not_overflow() -> None:
    assert 0 <= gaussian_delta(1.0, 5000.0) < 1e-300
    assert gaussian_epsilon(300.0, 1e-8) > 300
