"""How time and memory grow: with rows, users, items, items per user, counts fetched, rounds of a stream.

usage: python -m bench.scale.growth [NAME…] [--times 3]      measures those, or all, and writes the page
       python -m bench.scale.growth --write                  only writes the page

One thing grows at a time, from small to large, each answer in a process of its own. Time is processor time, which
a busy machine changes less than the clock on the wall. An exponent is the slope of the straight line through the
three largest points where both axes are logarithmic: 1 is proportional, 0 is not at all. The smaller points are
left out of it, because there starting up is most of the time.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bench.measure import print_header, print_table
from bench.scale import page
from bench.scale.rows import Rows, written
from bench.scale.runs import ROOT, answered, keep, kept, told

HISTOGRAM = {"question": "histogram", "items_per_user": 10}
TOP = {"question": "top", "k": 10}
MILLION = 1_000_000


@dataclass(frozen=True)
class Point:
    """One measurement: how much there is of what grows, of which rows, and what is asked."""

    at: int
    rows: Rows
    asked: dict[str, Any] = field(default_factory=lambda: dict(HISTOGRAM))


SWEEPS: dict[str, list[Point]] = {
    "rows": [
        Point(n, Rows(n, n // 10, n // 10))
        for n in (100_000, 300_000, MILLION, 3 * MILLION, 10 * MILLION, 30 * MILLION, 100 * MILLION)
    ],
    "users": [Point(n, Rows(MILLION, n, 100_000)) for n in (1000, 10_000, 100_000, MILLION)],
    "items": [Point(n, Rows(MILLION, 100_000, n)) for n in (1000, 10_000, 100_000, 500_000)],
    "items_per_user": [
        Point(n, Rows(MILLION, 10_000, 100_000), HISTOGRAM | {"items_per_user": n}) for n in (1, 3, 10, 30, 100)
    ],
    "fetch": [Point(n, Rows(MILLION, 100_000, 500_000), TOP | {"fetch": n}) for n in (100, 1000, 10_000, 100_000)],
}
ROUNDS = (8, 32, 128, 512)


def sweep(name: str, times: int) -> list[dict[str, Any]]:
    """Measure one thing that grows: each point so many times, of which the least counts; large ones once."""
    if name == "rounds":
        return [_stream(rounds) for rounds in ROUNDS]
    found = []
    for point in SWEEPS[name]:
        with written(point.rows) as path:
            took = [answered(path, point.asked) for _ in range(times if point.rows.rows <= MILLION else 1)]
        found.append(told(point.rows, min(took, key=lambda one: one.processor_seconds), at=point.at))
    return found


def _stream(rounds: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.scale.one_stream", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        raise SystemExit(done.stderr)
    return {"at": rounds, **json.loads(done.stdout)}


def exponent(points: list[dict[str, Any]], what: str) -> float:
    """Fit a power to the three largest points."""
    last = sorted(points, key=lambda point: float(point["at"]))[-3:]
    slope, _ = np.polyfit(np.log([one["at"] for one in last]), np.log([one[what] for one in last]), 1)
    return float(slope)


def main() -> None:
    names = [*SWEEPS, "rounds"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*names, []], help="what grows; all without names")
    parser.add_argument("--times", type=int, default=3, help="how often each point is measured")
    parser.add_argument("--write", action="store_true", help="write charts and page from what was measured last")
    chosen = parser.parse_args()
    if not chosen.write:
        print_header("How do time and memory grow?", ("duckdb", "numpy", "pyarrow"))
        for name in chosen.names or names:
            points = sweep(name, chosen.times)
            keep(name, points)
            print_table(
                (name, "processor", "wall", "peak memory"),
                [
                    [
                        f"{one['at']:,}",
                        f"{one['processor_seconds']:.2f} s",
                        f"{one['seconds']:.2f} s",
                        f"{one['peak_bytes'] / 1e6:,.0f} MB",
                    ]
                    for one in points
                ],
            )
            print(f"time grows with power {exponent(points, 'processor_seconds'):.2f} of {name}\n")
    page.write(kept(), exponent)


if __name__ == "__main__":
    main()
