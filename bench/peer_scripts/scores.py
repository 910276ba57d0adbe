"""How good a release of given counts is: shared by the peers' scripts and ours, so it needs PyArrow only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow.parquet as pq


def counts_of(path: str) -> tuple[list[int], list[bool]]:
    """Read the bounded counts, and which of their labels are among the true top."""
    table = pq.read_table(path)
    return table["count"].to_pylist(), table["top"].to_pylist()


def scores(
    releases: Iterable[Mapping[int, float]], counts: list[int], is_top: list[bool]
) -> dict[str, list[float]]:
    """Return, of each release (label's place to noisy count), how many labels, how much of the top, how wrong."""
    told: dict[str, list[float]] = {"released": [], "recall": [], "error": []}
    for release in releases:
        told["released"].append(len(release))
        told["recall"].append(sum(is_top[place] for place in release) / max(1, sum(is_top)))
        wrong = [abs(noisy - counts[place]) for place, noisy in release.items()]
        told["error"].append(sum(wrong) / len(wrong) if wrong else 0.0)
    return told
