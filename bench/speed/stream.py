"""Processor time a round of a stream of a million labels takes, at its start and at its end, and plain counting.

usage: python -m bench.speed.stream [--rounds N]

Each round brings 100,000 rows of users and items, of a million items in all; pushing it bounds, counts, draws the
noise, writes the release and makes the state durable. Plain counting is `collections.Counter.update` of the same
items and one pass over all labels: no bounds, no noise, no disk. Both are measured in processor time, of all
threads, after a round of another stream has loaded the libraries and opened DuckDB. A stream has one first
round, so those of several streams are measured. The naive twin of the tests does a stream of a size that it can
do, and so does the stream. A round's cost may grow with the labels and with nothing else, so the last rounds are
compared with the first ones that already had nearly all labels.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
import warnings
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
from unlisted.streams.question import EventLevelWarning
from unlisted.streams.stream import Stream

LABELS, ROUNDS, EVENTS = 1_000_000, 1_000, 100_000
BUDGET = Budget(epsilon=1, delta="1e-8")
WINDOW = 25
"""Rounds of which the median is taken."""
SETTLED = 75
"""After so many rounds 99.9 % of the labels have appeared."""
FIRST_ROUNDS = 9
"""Streams of which the first round is measured."""
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
    started = time.process_time()
    work()
    return time.process_time() - started


def events(number: int) -> pa.Table:
    rng = np.random.default_rng(number)
    items = pc.binary_join_element_wise(
        "item number", pa.array(rng.integers(0, LABELS, EVENTS)).cast(pa.string()), " "
    )
    return pa.table({"user": np.arange(EVENTS), "item": items})


def created(path: Path) -> Stream:
    with warnings.catch_warnings(action="ignore", category=EventLevelWarning):
        return Stream.create(path, rounds=ROUNDS, unit="event", items_per_event=1, budget=BUDGET)


def run(path: Path, rounds: int) -> Seconds:
    seconds = Seconds()
    one = Side(created(path))
    for number in range(1, rounds + 1):
        one.take_in(events(number), seconds)
        if sys.stderr.isatty():
            print(f"round {number} of {rounds}", file=sys.stderr)
    return seconds


def first_rounds(folder: Path) -> Seconds:
    """Measure the first rounds of some streams, after that of one which only loads the libraries."""
    created(folder / "another").push(events(0))
    seconds = Seconds()
    for number in range(FIRST_ROUNDS):
        Side(created(folder / f"first {number}")).take_in(events(number + 1), seconds)
    return seconds


class Side:
    """A stream, and plain counting beside it."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.highest = max(stream.settings.thresholds)
        self.counter: Counter[str] = Counter()

    def take_in(self, rows: pa.Table, seconds: Seconds) -> None:
        """Take in a round on either side, and note what it took."""
        items = rows.column("item").to_pylist()
        seconds.counter.append(took(lambda: self._count(items)))
        seconds.stream.append(took(lambda: self.stream.push(rows)))

    def _count(self, items: list[str]) -> list[str]:
        self.counter.update(items)
        return [label for label, total in self.counter.items() if total > self.highest]


def twin_seconds(folder: Path) -> tuple[float, float]:
    """Return the seconds of the naive twin and of a stream, of a size that the twin can do."""
    rng = np.random.default_rng(0)
    rounds = [dict(Counter(f"item {i}" for i in rng.integers(0, TWIN_LABELS, 200))) for _ in range(TWIN_ROUNDS)]
    with warnings.catch_warnings(action="ignore", category=EventLevelWarning):
        stream = Stream.create(
            folder / "small", rounds=TWIN_ROUNDS, unit="event", items_per_event=1, budget=BUDGET
        )
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
        firsts = first_rounds(Path(folder))
        seconds = run(path, rounds)
        first = slice(0, 5)
        start = min(SETTLED, rounds // 2)
        settled = slice(start, min(start + WINDOW, rounds))
        last = slice(max(0, rounds - WINDOW), rounds)
        head = ("", "push, processor seconds", "plain counting", "ratio")
        print_table(
            head,
            [
                firsts.row(f"round 1 of {FIRST_ROUNDS} streams", slice(None)),
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
    windows = {"round 1": firsts.ratio(slice(None))}
    windows |= {f"rounds up to {part.stop}": seconds.ratio(part) for part in (first, settled, last)}
    print(Target("a round takes at most 5x plain counting", 5, at_most=True, measured=windows).verdict())
    growth = statistics.median(seconds.stream[last]) / statistics.median(seconds.stream[settled])
    claim = "with all labels known, a later round takes no longer (1.25x for the machine's moods)"
    print(Target(claim, 1.25, at_most=True, measured={"last against settled": growth}).verdict())


if __name__ == "__main__":
    main()
