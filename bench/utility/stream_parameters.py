"""The search that found the parameters of correlated noise in `mechanisms/continual/correlated/recursion.py`.

`python bench/utility/stream_parameters.py` prints one line for each power of two from 4 to 2^20, as the module has
them, with what they lose against the square root of the matrix of prefix sums. It takes about five minutes.

The error of a stream of L steps goes by (Σ c²)·(Σ β²), c the coefficients of the recursion and β those of
1/((1-x)·c(x)), L of each. With c_k = Σ w_i·θ_i^(k-1) both are sums of few geometric series: 1/c(x) has as many
poles 1/φ_i as c(x) has zeros, and φ are the eigenvalues of diag(θ) - 1·wᵀ. So an evaluation takes no longer for
a million steps than for four. Floating point throughout: what is found is private whatever it is, and the module
checks the three conditions in whole numbers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import gammaln

BUFFERS = 4
LONGEST_EXPONENT = 20
FINE_FROM_EXPONENT = 16
"""From here on 2^-20 is too coarse for 1-θ."""

Floats = NDArray[np.float64]
HOPELESS = 50.0


def squares(decays: Floats, weights: Floats, steps: int) -> tuple[float, float]:
    """Return Σ c² and Σ β² over so many steps."""
    pairs = np.outer(decays, decays)
    c = 1 + float(np.sum(np.outer(weights, weights) * (1 - pairs ** (steps - 1)) / (1 - pairs)))
    phi, vectors = np.linalg.eig(np.diag(decays) - np.outer(np.ones(len(decays)), weights))
    if np.abs(phi.imag).max() > 1e-12 or np.abs(phi).max() >= 1:
        return np.inf, np.inf
    phi, vectors = phi.real, vectors.real
    # β_j = A + Σ v_i·φ_i^j.
    u = (weights @ vectors) * np.linalg.solve(vectors, np.ones(len(decays)))
    v = u / (1 - phi)
    rest = 1 - v.sum()
    products = np.outer(phi, phi)
    beta = steps * rest**2 + 2 * rest * np.sum(v * (1 - phi**steps) / (1 - phi))
    beta += np.sum(np.outer(v, v) * (1 - products**steps) / (1 - products))
    return c, float(beta)


def square_root(steps: int) -> float:
    """Return Σ c² of the square root of the matrix of prefix sums, whose β are its c."""
    k = np.arange(steps, dtype=np.float64)
    return float(np.sum(np.exp(2 * (gammaln(k + 0.5) - gammaln(k + 1))) / np.pi))


def unpacked(x: Floats) -> tuple[Floats, Floats]:
    """Return θ in (0, 1) and w > 0 from unbounded numbers."""
    return np.exp(-np.exp(x[:BUFFERS])), np.exp(x[BUFFERS:])


def error(x: Floats, steps: int) -> float:
    with np.errstate(all="ignore"):
        c, beta = squares(*unpacked(x), steps)
        found = float(np.log(c * beta))
    return found if np.isfinite(found) else HOPELESS


def searched(steps: int, near: Floats | None) -> Floats:
    """Return the best parameters found from a plain start and from those of half as many steps."""
    rates = np.geomspace(2 / steps, 0.7, BUFFERS)
    weights = np.sqrt(rates) / (2 * np.sqrt(rates).sum())
    starts = [np.log(np.concatenate([rates, weights]))]
    if near is not None:
        starts.append(near + np.concatenate([np.linspace(-np.log(2), 0, BUFFERS), np.zeros(BUFFERS)]))
    best, least = starts[0], np.inf
    for x in starts:
        for tolerance in (1e-8, 1e-9, 1e-9):
            options = {"maxiter": 40_000, "maxfev": 40_000, "xatol": tolerance, "fatol": 1e-13, "adaptive": True}
            x = minimize(error, x, args=(steps,), method="Nelder-Mead", options=options).x  # noqa: PLW2901
        if error(x, steps) < least:
            best, least = x, error(x, steps)
    # From the longest memory to the shortest.
    order = np.argsort(best[:BUFFERS])
    return np.concatenate([best[:BUFFERS][order], best[BUFFERS:][order]])


def line(exponent: int, x: Floats) -> str:
    """Return the parameters as whole numbers, as a line of the module."""
    precision = 24 if exponent >= FINE_FROM_EXPONENT else 20
    # The finer the grid, the less rounding weighs in ρ: about half a per cent.
    grid = max(9, 6 + (exponent + 1) // 2)
    decays, weights = (tuple(np.rint(part * 2**precision).astype(int).tolist()) for part in unpacked(x))
    c, beta = squares(np.array(decays) / 2**precision, np.array(weights) / 2**precision, 1 << exponent)
    ratio = np.sqrt(c * beta) / square_root(1 << exponent)
    return f"    {exponent}: Recursion({decays}, {weights}, {precision}, _GUARD, {grid}),  # {ratio:.5f}"


def main() -> None:
    x = None
    for exponent in range(2, LONGEST_EXPONENT + 1):
        x = searched(1 << exponent, x)
        print(line(exponent, x), flush=True)


if __name__ == "__main__":
    main()
