"""PyDP's noise on many values, one call each, in PipelineDP's environment: it has no vectorised way.

usage: pydp_noise.py VALUES SCALE…          prints the seconds of each law and scale as JSON
"""

from __future__ import annotations

import json
import sys
import time

from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism


def main(values: int, scales: list[str]) -> None:
    seconds = {}
    for scale in scales:
        laws = {
            "Gaussian": GaussianMechanism.create_from_standard_deviation(float(scale)),
            "Laplace": LaplaceMechanism(epsilon=1 / float(scale), sensitivity=1.0),
        }
        for law, mechanism in laws.items():
            started = time.perf_counter()
            for _ in range(values):
                mechanism.add_noise(0)
            seconds[f"PyDP {law} {scale}"] = time.perf_counter() - started
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
