"""How good a release of given counts is: shared by the peers' scripts and ours, so it needs PyArrow only.

A peer's script is asked many times while it runs, a line of JSON each time, and answers each with a line: starting
some of them takes longer than their answer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow.parquet as pq

Told = dict[str, dict[str, Any]]
"""By system: what `Counts.scores` says of every run, and its threshold if it has one."""

UNSEEN = 1 / 5000
"""Of the labels that a run releases, how many it may miss on average because their counts were not given to it."""

TOPS = (20, 100)
"""Recall is of so many of the labels that most users have."""

MEASURES = ("released", *(f"recall_{top}" for top in TOPS), "error", "true_error", "top_error")


@dataclass(frozen=True)
class Counts:
    """The counts of labels within a bound, largest first, with the truth beside them.

    `truths` are counts of all users with no bound on anything, `places` are from 0 in the order of those.
    """

    counts: list[int]
    truths: list[int]
    places: list[int]

    @cached_property
    def largest(self) -> dict[int, int]:
        """The rows of the true top with their true counts."""
        return {row: self.truths[row] for row, place in enumerate(self.places) if place < TOPS[-1]}

    @classmethod
    def read(cls, path: str) -> Counts:
        """Read what `bounded_tables.bounded` wrote."""
        table = pq.read_table(path)
        return cls(*(table[name].to_pylist() for name in ("count", "true_count", "place")))

    def scores(self, releases: Iterable[Mapping[int, float]], *, counted: bool = True) -> dict[str, list[float]]:
        """Return how many labels each release has (a mapping of row to noisy count), which, and how wrong.

        `error` is the mean distance of what is released from the bounded counts, `true_error` that from the true
        ones. A release without labels has neither. `top_error` is the mean distance over the true top 100, where a
        label that is not released counts as 0. What is not counted has no error.
        """
        told: dict[str, list[float]] = {name: [] for name in MEASURES}
        for release in releases:
            told["released"].append(len(release))
            for top in TOPS:
                found = sum(self.places[row] < top for row in release)
                told[f"recall_{top}"].append(found / min(top, len(self.places)))
            if release and counted:
                for name, right in (("error", self.counts), ("true_error", self.truths)):
                    told[name].append(math.fsum(abs(noisy - right[row]) for row, noisy in release.items()))
                    told[name][-1] /= len(release)
            if counted:
                wrong = (abs(release.get(row, 0.0) - true) for row, true in self.largest.items())
                told["top_error"].append(math.fsum(wrong) / len(self.largest))
        return told


def worth_noise(counts: list[int], chance: Callable[[int], float]) -> list[int]:
    """Leave out the smallest counts, as many as together make less than `UNSEEN` of the labels released.

    Noise is drawn for each label alone, so those that stay have the same chances as among all. Without it a system
    that draws a thousand values a second spends minutes on labels that hardly any run would show.
    """
    chances = {count: chance(count) for count in set(counts)}
    missed, kept = -UNSEEN * sum(chances[count] for count in counts), len(counts)
    while kept and (missed := missed + chances[counts[kept - 1]]) < 0:
        kept -= 1
    return counts[:kept]


def laplace_chance(scale: float, threshold: float) -> Callable[[int], float]:
    """Return a bound on the chance that a count with Laplace noise, discrete or not, reaches a threshold."""
    return lambda count: math.exp(-max(0.0, threshold - count) / scale)


def gaussian_chance(scale: float, threshold: float) -> Callable[[int], float]:
    """Return about the chance that a count with Gaussian noise, discrete or not, reaches a threshold."""
    return lambda count: math.erfc((threshold - count - 1) / (scale * math.sqrt(2))) / 2


def answer_lines(answer: Callable[[str, float, float, int, int], Told]) -> None:
    """Answer until there are no more lines; each has the path of the counts, ε, δ, items per user and runs."""
    for line in sys.stdin:
        path, epsilon, delta, items, runs = json.loads(line)
        told = answer(path, float(epsilon), float(delta), items, runs)
        print(json.dumps(told), flush=True)
