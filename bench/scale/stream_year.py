"""A year of hours: what 8,760 rounds of 50,000 labels take on the disk, and how fast a part of them is drawn.

usage: python -m bench.scale.stream_year [--rounds N] [--folder DIR]

Every hour brings 5,000 events of a Zipf law over the labels. A run that was stopped goes on where it was if it is
given the same folder. Afterwards another process draws the chart of the whole year, exports some of it and
verifies it: processor seconds, and the most memory that it held.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from bench.measure import Target, print_header, print_table
from bench.scale.peak import peak_bytes

import unlisted as ul
from unlisted.release.charts import save_chart
from unlisted.streams.question import EventLevelWarning

ROUNDS, LABELS, EVENTS = 8_760, 50_000, 5_000
BUDGET = ul.Budget(epsilon=1, delta="1e-8")
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
READS: dict[str, Callable[[ul.Stream, Path], object]] = {
    "chart of the whole year": lambda stream, to: save_chart(stream.chart(), to / "year.svg"),
    "export of one item, once a day": lambda stream, _: stream.export(every="1 day", items=["item 0"]),
    "export of the last day": lambda stream, _: stream.export(start=max(1, stream.round - 23)),
    "the last 24 hours": lambda stream, _: stream.last(24),
    "export of everything to Parquet": lambda stream, to: stream.write_export(to / "year.parquet", overwrite=True),
    "verify": lambda stream, _: stream.verify(),
}


def push_year(path: Path, rounds: int) -> None:
    """Push the hours that are missing, up to so many."""
    stream = ul.Stream.open(path) if path.exists() else created(path)
    weights = 1 / np.arange(1, LABELS + 1)
    weights /= weights.sum()
    names = np.array([f"item {at}" for at in range(LABELS)])
    first, rows, started = stream.round, [], time.process_time()
    for number in range(first + 1, rounds + 1):
        counts = np.random.default_rng([16, number]).multinomial(EVENTS, weights)
        there = np.flatnonzero(counts)
        brought = dict(zip(names[there].tolist(), counts[there].tolist(), strict=True))
        release = stream.push(brought, time=FIRST + timedelta(hours=number))
        if number in (10, 100) or number % 1000 == 0 or number == rounds:
            sizes = {name: _size(path / name) for name in ("journal", "state", "noise", "releases/log")}
            seconds = (time.process_time() - started) / (number - first)
            rows.append([f"{number:,}", f"{len(release or ()):,}", f"{seconds:.3f}"])
            rows[-1] += [f"{size / 1e6:.1f}" for size in sizes.values()]
            print(*rows[-1], file=sys.stderr, flush=True)
    if rows:
        head = ("round", "shown", "seconds a round", "journal, MB", "state", "noise", "releases")
        print_table(head, rows)


def created(path: Path) -> ul.Stream:
    with warnings.catch_warnings(action="ignore", category=EventLevelWarning):
        return ul.Stream.create(path, rounds=ROUNDS, unit="event", items_per_event=1, budget=BUDGET)


def read_one(path: Path, name: str, to: Path) -> None:
    started = time.process_time()
    READS[name](ul.Stream.open(path), to)
    print(json.dumps({"seconds": time.process_time() - started, "megabytes": peak_bytes() / 1e6}))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--read", choices=list(READS))
    asked = parser.parse_args()
    if asked.read is not None:
        read_one(asked.folder / "year", asked.read, asked.folder)
        return
    print_header(f"What does a stream of {asked.rounds:,} hours and {LABELS:,} labels take?")
    with tempfile.TemporaryDirectory() as made:
        folder = asked.folder or Path(made)
        push_year(folder / "year", asked.rounds)
        rows, memory = [], {}
        for name in READS:
            command = [sys.executable, "-m", "bench.scale.stream_year", "--folder", str(folder), "--read", name]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            rows.append([name, f"{found['seconds']:.1f}", f"{found['megabytes']:.0f}"])
            memory[name] = found["megabytes"]
        print_table(("read", "processor seconds", "peak memory, MB"), rows)
    chart = {"chart": memory["chart of the whole year"] / 300}
    print(Target("the chart of a year takes at most 300 MB (1x)", 1, at_most=True, measured=chart).verdict())


if __name__ == "__main__":
    main()
