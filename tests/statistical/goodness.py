"""One way to ask whether draws follow a law, for every test that asks: one α, and messages that say how far off.

Each check has a power twin: the same check on a slightly wrong law must fail, or it would prove nothing
(`rejects`). The bits are known (`tests/fixtures/known_bits.py`), so a verdict never changes from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

ALPHA = 1e-6
"""The chance that a check fails although nothing is wrong."""

LEAST_EXPECTED = 10.0
"""Values are pooled with their neighbours until so many draws are expected of them."""

NEGLIGIBLE = 1e-12
"""Masses may leave out this much; a value outside them counts as impossible."""


@dataclass(frozen=True)
class Verdict:
    """A statistic and the bound it must not exceed."""

    test: str
    statistic: float
    bound: float
    draws: int

    @property
    def rejected(self) -> bool:
        return not self.statistic <= self.bound

    def __str__(self) -> str:
        side = "exceeds" if self.rejected else "is within"
        return f"{self.test}: {self.statistic:.4g} {side} {self.bound:.4g} ({self.draws} draws, α = {ALPHA:g})"


def g_test(draws: ArrayLike, masses: Mapping[int, float]) -> Verdict:
    """Compare frequencies with a law by the likelihood-ratio (G) test; an impossible value has infinite G."""
    values = np.asarray(draws, dtype=np.int64).ravel()
    if abs(math.fsum(masses.values()) - 1) > NEGLIGIBLE:
        raise ValueError(f"the masses add up to {math.fsum(masses.values())!r}, not to 1")
    support = np.array(sorted(masses), dtype=np.int64)
    expected = np.array([masses[int(z)] for z in support]) * len(values)
    places = np.minimum(np.searchsorted(support, values), len(support) - 1)
    observed = np.bincount(places, minlength=len(support))
    if not np.array_equal(support[places], values) or np.any(observed[expected == 0]):
        return Verdict("an impossible value was drawn, G", math.inf, 0.0, len(values))
    observed, expected = _pooled(observed, expected)
    if len(expected) == 1:
        raise ValueError("there are too few draws to tell any two values apart")
    seen = observed > 0
    statistic = 2 * float(np.sum(observed[seen] * np.log(observed[seen] / expected[seen])))
    bound = float(stats.chi2.isf(ALPHA, len(expected) - 1))
    return Verdict(f"G with {len(expected) - 1} degrees of freedom", statistic, bound, len(values))


def distance_test(draws: ArrayLike, masses: Mapping[int, float]) -> Verdict:
    """Compare the two distribution functions by their largest distance (Kolmogorov-Smirnov).

    The bound of Dvoretzky, Kiefer, Wolfowitz and Massart holds for every law, discrete ones included.
    """
    values = np.sort(np.asarray(draws, dtype=np.int64).ravel())
    support = np.array(sorted(masses), dtype=np.int64)
    cumulative = np.cumsum([masses[int(z)] for z in support])
    seen = np.searchsorted(values, support, side="right") / len(values)
    bound = math.sqrt(math.log(2 / ALPHA) / (2 * len(values)))
    return Verdict("largest distance", float(np.max(np.abs(seen - cumulative))), bound, len(values))


def mean_test(draws: ArrayLike, mean: float, variance: float) -> Verdict:
    """Compare the mean of many draws, which is nearly normal, with its law's."""
    values = np.asarray(draws, dtype=np.float64).ravel()
    off = abs(float(values.mean()) - mean) / math.sqrt(variance / len(values))
    return Verdict("deviations of the mean", off, float(stats.norm.isf(ALPHA / 2)), len(values))


def same_law_test(one: ArrayLike, other: ArrayLike) -> Verdict:
    """Ask whether two samples come from one law, whatever it is (G test of a table with two rows)."""
    rows = [np.asarray(draws, dtype=np.int64).ravel() for draws in (one, other)]
    support = np.unique(np.concatenate(rows))
    counts = np.stack([np.bincount(np.searchsorted(support, row), minlength=len(support)) for row in rows])
    total = counts.sum(axis=0)
    first, _ = _pooled(counts[0], total.astype(float), least=2 * LEAST_EXPECTED)
    both, _ = _pooled(total, total.astype(float), least=2 * LEAST_EXPECTED)
    table = np.stack([first, both - first])
    result = stats.chi2_contingency(table, lambda_="log-likelihood")
    bound = float(stats.chi2.isf(ALPHA, result.dof))
    return Verdict(f"G of two samples with {result.dof} degrees of freedom", result.statistic, bound, len(rows[0]))


def accepts(*verdicts: Verdict) -> None:
    """Fail, with statistic and bound, if any of these checks rejects its law."""
    for verdict in verdicts:
        assert not verdict.rejected, str(verdict)


def rejects(*verdicts: Verdict) -> None:
    """Fail if any of these checks does not notice that its law is wrong: the power twin of `accepts`."""
    for verdict in verdicts:
        assert verdict.rejected, f"no power: {verdict}"


def moments(masses: Mapping[int, float]) -> tuple[float, float]:
    """Return mean and variance of a law."""
    mean = math.fsum(z * p for z, p in masses.items())
    return mean, math.fsum((z - mean) ** 2 * p for z, p in masses.items())


def as_numbers(outcomes: Iterable[object], law: Mapping[object, float]) -> tuple[list[int], dict[int, float]]:
    """Number the outcomes of a law over anything, most likely first; an unknown outcome is numbered -1."""
    numbered = {outcome: i for i, outcome in enumerate(sorted(law, key=lambda one: -law[one]))}
    return [numbered.get(one, -1) for one in outcomes], {i: law[one] for one, i in numbered.items()}


def _pooled(
    observed: np.ndarray, expected: np.ndarray, least: float = LEAST_EXPECTED
) -> tuple[np.ndarray, np.ndarray]:
    """Join neighbours, from the left, until each bin expects enough; what is left over joins the last bin."""
    starts, gathered = [0], 0.0
    for i, part in enumerate(expected[:-1]):
        gathered += part
        if gathered >= least:
            starts.append(i + 1)
            gathered = 0.0
    if len(starts) > 1 and expected[starts[-1] :].sum() < least:
        starts.pop()
    return np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
