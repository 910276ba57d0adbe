"""PyDP's optimal choice of labels on given counts: how many come out.

usage: pydp_labels.py        a line of JSON in, a line out: scores.answer_lines

The truncated geometric strategy, the best it has for few items per user, with the whole budget. It has no counts.
Its other two strategies do, and are the ones that PipelineDP uses.
"""

from __future__ import annotations

from pydp.algorithms.partition_selection import create_truncated_geometric_partition_strategy
from scores import Counts, Told, answer_lines, worth_noise


def released(path: str, epsilon: float, delta: float, items: int, runs: int) -> Told:
    table = Counts.read(path)
    strategy = create_truncated_geometric_partition_strategy(epsilon, delta, items)
    near = worth_noise(table.counts, strategy.probability_of_keep)
    releases = (
        {place: 0.0 for place, count in enumerate(near) if strategy.should_keep(count)} for _ in range(runs)
    )
    return {"PyDP, labels only": table.scores(releases, counted=False)}


if __name__ == "__main__":
    answer_lines(released)
