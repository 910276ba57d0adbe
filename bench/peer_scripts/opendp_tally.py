"""OpenDP's Laplace threshold measurement on a histogram, many times, in its own environment.

usage: opendp_tally.py HISTOGRAM RUNS SCALE THRESHOLD        prints what it promises and how often each output came

The histogram is JSON, a mapping from label to count. The promise is for one label that moves by one.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

import opendp.prelude as dp


def main(histogram: dict[str, int], runs: int, scale: float, threshold: int) -> None:
    dp.enable_features("contrib")
    measurement = dp.m.make_laplace_threshold(
        dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64")),
        dp.l01inf_distance(dp.absolute_distance(T="i64")),
        scale=scale,
        threshold=threshold,
    )
    epsilon, delta = measurement.map((1, 1, 1))
    tally = Counter(json.dumps(sorted(measurement(histogram).items())) for _ in range(runs))
    print(json.dumps({"epsilon": epsilon, "delta": delta, "tally": tally}))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
