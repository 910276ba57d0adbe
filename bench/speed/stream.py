"""Seconds a round of a stream of a million labels takes, at its start and at its end, against plain counting.

usage: python -m bench.speed.stream [--rounds N]

Each round brings 100,000 rows of users and items, of a million items in all; pushing it bounds, counts, draws the
noise, writes the release and makes the state durable. Plain counting is `collections.Counter.update` of the same
items and one pass over all labels: no bounds, no noise, no disk. The naive twin of the tests does a stream of a
size that it can do, and so does the stream. A round's cost may grow with the labels and with nothing else, so the
last rounds are compared with the first ones that already had nearly all labels.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from bench.measure import Target, print_header, print_table, times
from tests.mechanisms.continual.correlated_reference import plainly

from unlisted.privacy.guarantee import Budget
from unlisted.streams.folder import Folder
from unlisted.streams.stream import Stream

LABELS, ROUNDS, EVENTS = 1_000_000, 1_000, 100_000
BUDGET = Budget(epsilon=1, delta="1e-8")
WINDOW = 25
"""Rounds of which the median is taken."""
SETTLED = 75
"""After so many rounds 99.9 % of the labels have appeared."""
TWIN_ROUNDS, TWIN_LABELS = 15, 40


@dataclass
class Seconds:
    """What the rounds took on either side."""

    stream: list[float] = field(default_factory=list)
    counter: list[float] = field(default_factory=list)

    def row(self, name: str, rounds: slice) -> list[str]:
        """Say the medians of some rounds."""
        pushed, counted = (statistics.median(side[rounds]) for side in (self.stream, self.counter))
        return [name, f"{pushed:.3f}", f"{counted:.3f}", times(pushed / counted)]

    def ratio(self, rounds: slice) -> float:
        """Return how much longer than plain counting some rounds took."""
        return statistics.median(self.stream[rounds]) / statistics.median(self.counter[rounds])


def took(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def events(number: int) -> pa.Table:
    rng = np.random.default_rng(number)
    items = pc.binary_join_element_wise(
        "item number", pa.array(rng.integers(0, LABELS, EVENTS)).cast(pa.string()), " "
    )
    return pa.table({"user": np.arange(EVENTS), "item": items})


def run(path: Path, rounds: int) -> Seconds:
    stream = Stream.create(path, rounds=ROUNDS, unit="event", items_per_event=1, budget=BUDGET)
    highest = max(stream.settings.thresholds)
    counter: Counter[str] = Counter()
    seconds = Seconds()

    def count(items: list[str]) -> list[str]:
        counter.update(items)
        return [label for label, total in counter.items() if total > highest]

    for number in range(1, rounds + 1):
        rows = events(number)
        items = rows.column("item").to_pylist()
        seconds.counter.append(took(lambda items=items: count(items)))
        seconds.stream.append(took(lambda rows=rows: stream.push(rows)))
        if sys.stderr.isatty():
            print(f"round {number} of {rounds}", file=sys.stderr)
    return seconds


def twin_seconds(folder: Path) -> tuple[float, float]:
    """Return the seconds of the naive twin and of a stream, of a size that the twin can do."""
    rng = np.random.default_rng(0)
    rounds = [dict(Counter(f"item {i}" for i in rng.integers(0, TWIN_LABELS, 200))) for _ in range(TWIN_ROUNDS)]
    stream = Stream.create(folder / "small", rounds=TWIN_ROUNDS, unit="event", items_per_event=1, budget=BUDGET)
    pushed = took(lambda: [stream.push(one) for one in rounds])
    mechanism, key = stream.settings.mechanism, Folder(folder / "small").key()
    return took(lambda: plainly(mechanism, rounds, key)), pushed


def size_of(path: Path, *names: str) -> int:
    return sum(file.stat().st_size for name in names for file in [path / name] if file.is_file())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    print_header(f"How long does a round of {EVENTS:,} rows take in a stream of {LABELS:,} labels?")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream"
        seconds = run(path, rounds)
        first = slice(0, 5)
        start = min(SETTLED, rounds // 2)
        settled = slice(start, min(start + WINDOW, rounds))
        last = slice(max(0, rounds - WINDOW), rounds)
        head = ("", "push, seconds", "plain counting", "ratio")
        print_table(
            head,
            [
                seconds.row("rounds 1 to 5", first),
                seconds.row(f"rounds {settled.start + 1} to {settled.stop}", settled),
                seconds.row(f"rounds {last.start + 1} to {last.stop}", last),
            ],
        )
        opened = Stream.open(path)
        restarted = took(lambda: opened.push(events(rounds), number=rounds))
        after = took(lambda: opened.push(events(0))) if rounds < ROUNDS else 0.0
        state, journal = size_of(path, "state"), size_of(path, "journal")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"restart: opened and the last round known again in {restarted:.2f} s, the next one in {after:.2f} s"
        )
        print(
            f"on disk: state {state / 1e6:.1f} MB, written each round; journal {journal / 1e6:.1f} MB, appended to"
        )
        print(f"memory: {peak:,.0f} MB at most, both sides and a second copy of the stream in one process")
        naive, pushed = twin_seconds(Path(folder))
        print(
            f"naive twin: {naive:.2f} s for {TWIN_ROUNDS} rounds of {TWIN_LABELS} labels, {times(naive / pushed)} "
            f"of the stream's {pushed:.2f} s, after which all is on the disk\n"
        )
    windows = {f"rounds up to {part.stop}": seconds.ratio(part) for part in (first, settled, last)}
    print(Target("a round takes at most 10x plain counting", 10, at_most=True, measured=windows).verdict())
    growth = statistics.median(seconds.stream[last]) / statistics.median(seconds.stream[settled])
    claim = "with all labels known, a later round takes no longer (1.25x for the machine's moods)"
    print(Target(claim, 1.25, at_most=True, measured={"last against settled": growth}).verdict())


if __name__ == "__main__":
    main()
