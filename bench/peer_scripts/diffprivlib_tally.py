"""One of diffprivlib's mechanisms on a count, many times, in its own environment.

usage: diffprivlib_tally.py COUNT RUNS MECHANISM EPSILON      prints its promise and how often each output came
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter

warnings.filterwarnings("ignore")  # its warnings are about itself

from diffprivlib import mechanisms  # noqa: E402 - the filter comes first


def main(count: int, runs: int, name: str, epsilon: float) -> None:
    mechanism = getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1)
    tally = Counter(json.dumps(mechanism.randomise(count)) for _ in range(runs))
    print(json.dumps({"epsilon": epsilon, "delta": 0, "tally": tally}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))
