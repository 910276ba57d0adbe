"""Thresholds and noise of a stream: the binary tree and correlated noise, at the same budget, in one run.

`python bench/utility/stream_thresholds.py`. Mean and worst over all rounds; a count must exceed its threshold.
"""

from __future__ import annotations

import math

from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.correlated.price import class_of, response
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity

BUDGET = Budget(epsilon=1, delta="1e-8")
CASES: tuple[tuple[int, int, dict[str, int]], ...] = (
    (365, 1, {}),
    (365, 10, {}),
    (365, 100, {}),
    (8760, 1, {}),
    (8760, 10, {}),
    (8760, 100, {}),
    (365, 3, {"rounds_per_unit": 30}),
)


def over_rounds(numbers: list[float]) -> str:
    return f"{sum(numbers) / len(numbers):,.1f} / {max(numbers):,.1f}"


def main() -> None:
    print("| rounds | items | rounds a unit | T, tree | T, correlated | noise, tree | noise, correlated |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rounds, items, course in CASES:
        tree = RunningHistogram.for_budget(BUDGET, rounds, Sensitivity(items), **course).mechanism
        ours = CorrelatedHistogram.for_budget(BUDGET, rounds, Sensitivity(items), **course).mechanism
        numbers = range(1, rounds + 1)
        widths = [math.sqrt(width.squares) for width in response(ours.recursion, rounds).widths]
        scale = math.sqrt(ours.law.variance) / (1 << ours.recursion.grid)
        cells = (
            over_rounds([tree.threshold_after(t) for t in numbers]),
            over_rounds([ours.threshold_after(t) for t in numbers]),
            over_rounds([tree.law.stddev * math.sqrt(tree.ones_after(t)) for t in numbers]),
            over_rounds([scale * widths[class_of(t)] for t in numbers]),
        )
        of_unit = course.get("rounds_per_unit", 1)
        print(f"| {rounds:,} | {items} | {of_unit} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
