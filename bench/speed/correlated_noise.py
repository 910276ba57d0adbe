"""What a round of correlated noise costs, beside a plain addition of as many numbers, and what a replay costs.

`python bench/speed/correlated_noise.py`. Processor time of this process, the least of several rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from unlisted.mechanisms.continual.correlated.noise import KeyedRecursion
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.noise.keyed import NoiseKey

LABELS, ROUNDS, TIMES = 1_000_000, 8760, 5


def least(work: Callable[[], object], times: int = TIMES) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    key = NoiseKey.fresh()
    tags = np.frombuffer(key.secret("tags") * (LABELS // 2), np.uint8).reshape(-1, 16).copy()
    tags[:, :8] = np.arange(LABELS, dtype=np.int64).view(np.uint8).reshape(-1, 8)
    recursion = Recursion.for_steps(ROUNDS)
    noise = KeyedRecursion(key, WideGaussian(Fraction(88_000**2)), recursion)
    numbers = noise.after([noise.name(1, b"")], tags, recursion.start(LABELS))
    round_ = least(lambda: noise.after([noise.name(2, b"")], tags, numbers))
    counts = np.ones(LABELS, dtype=np.int64)
    plain = least(lambda: counts + counts)
    print(f"one round of {LABELS:,} labels: {round_:.3f} s, {round_ / plain:.0f} times a plain addition")
    names = [noise.name(step, b"") for step in range(1, ROUNDS + 1)]
    for few in (1, 100, 10_000):
        steps = names if few <= 100 else names[:200]
        took = least(lambda few=few, steps=steps: noise.after(steps, tags[:few], recursion.start(few)), 1)
        print(f"{few:,} new labels replay {len(steps):,} rounds: {took:.2f} s")


if __name__ == "__main__":
    main()
