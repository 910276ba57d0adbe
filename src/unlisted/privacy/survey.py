"""The survey's continuous formulas, under their own names: to compare with and to teach from.

Nothing that releases data calls these. They are floating point, they speak of continuous noise, and some are
looser than what `convert.py` and the mechanisms use; the tests hold them against the reference values of the
theory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist


def normal_upper_quantile(p: float) -> float:
    """Return x with P[N > x] = p, without ever forming 1 - p."""
    return -NormalDist().inv_cdf(p)


def per_label_failure(delta: float, items: int) -> float:
    """Return τ = 1 - (1-δ)^(1/Δ0)."""
    return -math.expm1(math.log1p(-delta) / items)


def laplace_threshold(epsilon: float, failure: float, count: int = 1) -> float:
    """Return Δ∞ + b·log(1/2τ) for continuous Laplace noise of scale b = Δ∞/ε."""
    return count + count / epsilon * math.log(1 / (2 * failure))


def gaussian_threshold(epsilon: float, failure: float, count: int = 1) -> float:
    """Return Δ∞ + σ·isf(τ) for continuous Gaussian noise of σ = Δ∞/ε."""
    return count + count / epsilon * normal_upper_quantile(failure)


def top_gaussian_threshold(epsilon: float, failure: float, count: int = 1) -> float:
    """Return Δ∞ + √2·σ·isf(δ/ℓ), the threshold over the (k̄+1)-th count."""
    return count + math.sqrt(2) * count / epsilon * normal_upper_quantile(failure)


def top_laplace_tail(t: float, scale: float) -> float:
    """Return P[Z₁ - Z₀ > t] for two continuous Laplace draws."""
    return math.exp(-t / scale) * (1 + t / (2 * scale)) / 2


def gumbel_threshold(epsilon: float, delta: float, entering: int, count: int = 1) -> float:
    """Return the survey's Δ∞ + (Δ∞/ε)·log(ℓ/δ)."""
    return count + count / epsilon * math.log(entering / delta)


def binary_threshold(epsilon: float, delta: float, items: int, rounds: int, nodes: int) -> float:
    """Return 1 + σ·sqrt(nodes)·isf(δ/(Δ0·L)): nodes is m + 1 in the statement, m in the proof, popmax at best."""
    return 1 + math.sqrt(nodes) / epsilon * normal_upper_quantile(delta / (items * rounds))


def continuous_laplace_rho(epsilon: float) -> float:
    """Return ε + e^-ε - 1, the ρ of *continuous* Laplace noise; integer noise costs more."""
    return epsilon + math.expm1(-epsilon)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the exact δ(ε) of *continuous* Gaussian noise with sensitivity/σ = μ; integer noise costs more."""
    below = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    above = math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    # e^ε alone would overflow at ε = 710, where the product is still a probability.
    return below - (math.exp(epsilon + math.log(above)) if above else 0.0)


def gaussian_epsilon(rho: float, delta: float) -> float:
    """Return the exact ε of continuous Gaussian noise of price ρ at δ, by bisection."""
    return _where_falling(lambda epsilon: gaussian_delta(math.sqrt(2 * rho), epsilon) - delta, 0.0, 1e4)


def analytic_gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the smallest σ of continuous Gaussian noise that is (ε, δ)-DP at sensitivity 1."""
    return _where_falling(lambda sigma: gaussian_delta(1 / sigma, epsilon) - delta, 1e-3, 1e6)


def sparse_histogram_delta(epsilon: float, sigma: float, threshold: float, items: int) -> float:
    """Return the exact δ(ε) of Algorithm 1 with continuous Gaussian noise: j labels appear, Δ0 - j move."""
    failure = math.erfc((threshold - 1) / sigma / math.sqrt(2)) / 2
    worst = 0.0
    for fresh in range(items + 1):
        kept = fresh * math.log1p(-failure)
        mu = math.sqrt(items - fresh) / sigma
        moved, back = (_delta(mu, epsilon - kept), _delta(mu, epsilon + kept))
        worst = max(worst, -math.expm1(kept) + math.exp(kept) * moved, back)
    return worst


def _delta(mu: float, epsilon: float) -> float:
    if mu == 0:
        return max(0.0, -math.expm1(epsilon)) if epsilon < 0 else 0.0
    return gaussian_delta(mu, epsilon)


def _where_falling(f: Callable[[float], float], low: float, high: float) -> float:
    """Return where a falling function crosses 0, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high
