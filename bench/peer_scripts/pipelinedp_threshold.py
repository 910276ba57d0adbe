"""PipelineDP's thresholds on given counts: how many labels come out, and how good they are.

usage: pipelinedp_threshold.py        a line of JSON in, a line out: scores.answer_lines

The strategy that its engine applies to every partition's count with post-aggregation thresholding, which is
PyDP's (Google's C++ library): the noise of the count decides who appears, and the budget is spent once.
"""

from __future__ import annotations

from typing import Any

import pipeline_dp as pdp
from pipeline_dp.partition_selection import create_partition_selection_strategy
from scores import Counts, Told, answer_lines, worth_noise

STRATEGIES = {
    "PipelineDP, Laplace threshold": pdp.PartitionSelectionStrategy.LAPLACE_THRESHOLDING,
    "PipelineDP, Gaussian threshold": pdp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
}


def one_run(strategy: Any, counts: list[int]) -> dict[int, float]:
    noisy = map(strategy.noised_value_if_should_keep, counts)
    return {place: value for place, value in enumerate(noisy) if value is not None}


def released(path: str, epsilon: float, delta: float, items: int, runs: int) -> Told:
    table = Counts.read(path)
    told: Told = {}
    for name, kind in STRATEGIES.items():
        strategy = create_partition_selection_strategy(kind, epsilon, delta, items, None)
        near = worth_noise(table.counts, strategy.probability_of_keep)
        found = table.scores(one_run(strategy, near) for _ in range(runs))
        told[name] = {"threshold": strategy.threshold, **found}
    return told


if __name__ == "__main__":
    answer_lines(released)
