"""PipelineDP's thresholds on given counts: how many labels come out, and how good they are.

usage: pipelinedp_threshold.py COUNTS.parquet EPSILON DELTA ITEMS_PER_USER RUNS        prints scores as JSON

The mechanism that its engine applies to every partition's count with post-aggregation thresholding, which is
PyDP's (Google's C++ library): the noise of the count decides who appears, and the budget is spent once.
"""

from __future__ import annotations

import json
import sys

import pipeline_dp as pdp
from pipeline_dp.dp_computations import ThresholdingMechanism
from scores import counts_of, scores

STRATEGIES = {
    "PipelineDP, Laplace threshold": pdp.PartitionSelectionStrategy.LAPLACE_THRESHOLDING,
    "PipelineDP, Gaussian threshold": pdp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
}


def released(mechanism: ThresholdingMechanism, counts: list[int]) -> dict[int, float]:
    noisy = map(mechanism.noised_value_if_should_keep, counts)
    return {place: value for place, value in enumerate(noisy) if value is not None}


def main(path: str, epsilon: float, delta: float, items: int, runs: int) -> None:
    counts, is_top = counts_of(path)
    told = {}
    for name, strategy in STRATEGIES.items():
        mechanism = ThresholdingMechanism(epsilon, delta, strategy, items, None)
        found = scores((released(mechanism, counts) for _ in range(runs)), counts, is_top)
        told[name] = {"threshold": mechanism.threshold(), **found}
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
