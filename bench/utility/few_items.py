"""How many labels are shown where users have one to three items, and how far off: noise that ends, and others.

    python -m bench.utility.few_items [--tables demo W1 …] [--epsilon 1] [--delta 1e-8]

Nothing is simulated. A label of c users is shown with a known chance, and then as a value of a known law: both
are added up over the counts of a table that was bounded once. `zipf` is a made-up table of counts 1,000,000/rank.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
from bench.measure import print_header
from bench.utility.bounded_tables import TABLES, bounded
from numpy.typing import NDArray

from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.randomized_threshold import SHARE_BITS
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.tails import tail_about
from unlisted.noise.law import Law
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

BOUNDS = (1, 2, 3)
ZIPF = "zipf"
_ZIPF_TOP, _ZIPF_LABELS = 1_000_000, 2_000_000

Masses = NDArray[np.float64]


@dataclass(frozen=True)
class Side:
    """One way a label's noise and threshold can be: its chance, masses from -reach to reach, and the threshold."""

    chance: float
    masses: Masses
    threshold: int

    def shown(self, count: int) -> tuple[float, float]:
        """Return the chance that a label of this count is shown, and the mean of how far off with it."""
        reach = len(self.masses) // 2
        noise = np.arange(-reach, reach + 1)
        passing = self.masses * (count + noise > self.threshold)
        return self.chance * float(passing.sum()), self.chance * float(passing @ np.abs(noise))


def sides_of_histogram(mechanism: ThresholdHistogram) -> list[Side]:
    masses, lowered = _masses(mechanism.law), mechanism.lowered / 2**SHARE_BITS
    sides = [Side(1 - lowered, masses, mechanism.threshold)]
    return [*sides, Side(lowered, masses, mechanism.threshold - 1)] if lowered else sides


def sides_of_truncated(mechanism: TruncatedHistogram) -> list[Side]:
    share, b = mechanism.narrowed / 2**SHARE_BITS, float(mechanism.scale)
    return [
        Side(chance, _normalised(np.exp(-np.abs(np.arange(-reach, reach + 1)) / b)), threshold)
        for chance, reach, threshold in (
            (1 - share, mechanism.reach, mechanism.threshold),
            (share, mechanism.reach - 1, mechanism.threshold - 1),
        )
    ]


def _masses(law: Law) -> Masses:
    """Return the masses of a law without ends, as far as they matter."""
    if isinstance(law, DiscreteLaplace):
        reach = math.ceil(45 * law.scale)
        return _normalised(np.exp(-np.abs(np.arange(-reach, reach + 1)) / float(law.scale)))
    variance = float(law.variance)
    reach = math.ceil(9 * math.sqrt(variance)) + 2
    tails = np.array([tail_about(t, variance) for t in range(-reach, reach + 2)])
    return _normalised(tails[:-1] - tails[1:])


def _normalised(weights: Masses) -> Masses:
    return weights / weights.sum()


@dataclass(frozen=True)
class Counts:
    """A table's bounded counts: each distinct one, and how many labels have it."""

    name: str
    values: NDArray[np.int64]
    labels: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, counts: NDArray[np.int64]) -> Counts:
        """Return the counts of all labels said shortly."""
        return cls(name, *np.unique(counts, return_counts=True))

    def expected(self, sides: list[Side]) -> tuple[float, float]:
        """Return the expected number of labels shown, and the mean error of a shown count."""
        # From here on everything is shown: all such counts are alike.
        certain = max(side.threshold + len(side.masses) // 2 for side in sides) + 1
        labels = errors = 0.0
        for count, times in zip(self.values.tolist(), self.labels.tolist(), strict=True):
            for side in sides:
                chance, error = side.shown(min(count, certain))
                labels, errors = labels + times * chance, errors + times * error
        return labels, errors / labels if labels else 0.0

    def right(self, sides: list[Side]) -> float:
        """Return the expected number of labels that are shown with a count right to within a tenth."""
        certain = max(side.threshold + len(side.masses) // 2 for side in sides) + 1
        right = 0.0
        for count, times in zip(self.values.tolist(), self.labels.tolist(), strict=True):
            for side in sides:
                noise = np.arange(len(side.masses)) - len(side.masses) // 2
                good = (min(count, certain) + noise > side.threshold) & (np.abs(noise) <= count / 10)
                right += times * side.chance * float(side.masses[good].sum())
        return right

    def chosen(self, chance: Callable[[int], float]) -> float:
        """Return the expected number of labels chosen without counts."""
        return math.fsum(n * chance(c) for c, n in zip(self.values.tolist(), self.labels.tolist(), strict=True))


def row(counts: Counts, bound: int, budget: Budget) -> str:
    """Return one line of the table."""
    users = Sensitivity(bound)
    today = ThresholdHistogram.for_budget(budget, users).mechanism
    truncated = TruncatedHistogram.for_budget(budget, users).mechanism
    optimal = OptimalLabels.for_budget(budget, users).mechanism
    ways = (
        sides_of_histogram(today),
        sides_of_histogram(today.with_randomized_threshold(budget)),
        sides_of_truncated(truncated),
    )
    cells = [f"{labels:,.1f}, ±{error:.2f}" for labels, error in map(counts.expected, ways)]
    best = counts.chosen(lambda count: float(optimal.chance(count)))
    return f"| {counts.name} | {bound} | {' | '.join(cells)} | {best:,.1f} |"


def counts_of(name: str, bound: int) -> Counts | None:
    if name == ZIPF:
        return Counts.of(name, _ZIPF_TOP // np.arange(1, _ZIPF_LABELS + 1))
    found = next(rows for rows in TABLES if rows.name == name)
    if not found.is_there:
        return None
    return Counts.of(name, np.array(pq.read_table(bounded(found, bound))["count"].to_pylist(), dtype=np.int64))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [ZIPF, *(rows.name for rows in TABLES)]
    parser.add_argument("--tables", nargs="+", default=names, choices=names)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-8")
    asked = parser.parse_args()
    budget = Budget(epsilon=asked.epsilon, delta=asked.delta)
    print_header("Labels shown and mean error of their bounded counts, expected")
    print("| table | items | ThresholdHistogram | with a coin | TruncatedHistogram | OptimalLabels, no counts |")
    print("| :--- | ---: | ---: | ---: | ---: | ---: |")
    for name in asked.tables:
        for bound in BOUNDS:
            counts = counts_of(name, bound)
            print(f"| {name} | {bound} | not here |" if counts is None else row(counts, bound, budget), flush=True)


if __name__ == "__main__":
    main()
