"""One stream from its first round to its last, in a process of its own: how long it took, and how much memory.

usage: python -m bench.scale.one_stream ROUNDS          prints JSON

Every round brings the same number of new counts of the same labels, so that only the rounds grow.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from bench.scale.peak import peak_bytes

import unlisted as ul

LABELS = 2000


def main(rounds: str) -> None:
    brought = {f"item {at}": 1 + at % 50 for at in range(LABELS)}
    budget = ul.Budget(epsilon=1, delta="1e-8")
    with tempfile.TemporaryDirectory() as folder:
        stream = ul.Stream.create(
            Path(folder) / "stream", rounds=int(rounds), unit="event", items_per_event=1, budget=budget
        )
        wall, processor = time.perf_counter(), time.process_time()
        for _ in range(int(rounds)):
            stream.push(brought)
        report = {
            "seconds": time.perf_counter() - wall,
            "processor_seconds": time.process_time() - processor,
            "peak_bytes": peak_bytes(),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
