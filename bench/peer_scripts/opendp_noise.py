"""OpenDP's discrete noise on many values at once, in its own environment.

usage: opendp_noise.py VALUES SCALE…        prints the seconds of each law and scale as JSON

One vector measurement on all values is its fastest documented way: one call into Rust, no loop in Python.
"""

from __future__ import annotations

import json
import sys
import time

import opendp.prelude as dp


def main(values: int, scales: list[str]) -> None:
    dp.enable_features("contrib")
    vectors, data = dp.vector_domain(dp.atom_domain(T="i64")), [0] * values
    seconds = {}
    for scale in scales:
        laws = {
            "Gaussian": dp.m.make_gaussian(vectors, dp.l2_distance(T="f64"), scale=float(scale)),
            "Laplace": dp.m.make_laplace(vectors, dp.l1_distance(T="i64"), scale=float(scale)),
        }
        for law, measurement in laws.items():
            started = time.perf_counter()
            measurement(data)
            seconds[f"OpenDP {law} {scale}"] = time.perf_counter() - started
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
