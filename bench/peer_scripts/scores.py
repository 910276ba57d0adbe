"""How good a release of given counts is: shared by the peers' scripts and ours, so it needs PyArrow only.

A peer's script is asked many times while it runs, a line of JSON each time, and answers each with a line: starting
some of them takes longer than their answer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow.parquet as pq

Told = dict[str, dict[str, Any]]
"""By system: what `scores` says of every run, and its threshold if it has one."""

UNSEEN = 1 / 5000
"""Of the labels that a run releases, how many it may miss on average because their counts were not given to it."""


def counts_of(path: str) -> tuple[list[int], list[bool]]:
    """Read the bounded counts, largest first, and which of their labels are among the true top."""
    table = pq.read_table(path)
    return table["count"].to_pylist(), table["top"].to_pylist()


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


def scores(
    releases: Iterable[Mapping[int, float]], counts: list[int], is_top: list[bool]
) -> dict[str, list[float]]:
    """Return, of each release (label's place to noisy count), how many labels, how much of the top, how wrong.

    A release without labels has no error.
    """
    told: dict[str, list[float]] = {"released": [], "recall": [], "error": []}
    for release in releases:
        told["released"].append(len(release))
        told["recall"].append(sum(is_top[place] for place in release) / max(1, sum(is_top)))
        if release:
            wrong = [abs(noisy - counts[place]) for place, noisy in release.items()]
            told["error"].append(sum(wrong) / len(wrong))
    return told


def answer_lines(answer: Callable[[str, float, float, int, int], Told]) -> None:
    """Answer until there are no more lines; each has the path of the counts, ε, δ, items per user and runs."""
    for line in sys.stdin:
        path, epsilon, delta, items, runs = json.loads(line)
        told = answer(path, float(epsilon), float(delta), items, runs)
        print(json.dumps(told), flush=True)
