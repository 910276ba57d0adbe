"""How many keys a stream of users shows, and with what error: the table of DP-SQLP, and a year of hours.

usage: python -m bench.utility.streams [--run]

DP-SQLP (Zhang et al., PVLDB 17:12) reports keys and errors after the last of T micro-batches: ε = 6, δ = 1e-9, at
most 32 contributions a user, 10 million users, a million keys. A user has as many records as a Zipf-Mandelbrot law
says (q = 26, s = 6.738), each of a key by another (q = 1000, s = 1.4). Here a user counts once for each key, for
at most 32 keys. At full size keys and error are *computed*: every count is Poisson about its mean, its noise is
the mechanism's. With `--run` a stream of a tenth of the users and keys is really pushed, round after round, and
compared with what is computed for that size.

The l2 error is that of the released counts against the bounded ones, at most 32 keys of each user, and of what is
hidden against nothing. Against all records it is larger by what the bound takes away; both are printed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from bench.measure import Target, print_header, print_table
from numpy.typing import NDArray
from scipy.stats import norm

from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.continual_histogram import ContinualHistogram
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.streams.stream import Stream

BUDGET = Budget(epsilon=6, delta="1e-9")
ITEMS = 32
USERS, KEYS = 10_000_000, 1_000_000
PUBLISHED = {100: (28_338, 50_039), 1000: (22_280, 58_237)}
"""Keys and l2 of DP-SQLP's table, by the number of rounds."""

MOST_RECORDS = 100_000
Floats = NDArray[np.float64]


def zipf_mandelbrot(size: int, q: float, s: float) -> Floats:
    weights = 1 / (np.arange(1, size + 1) + q) ** s
    return weights / weights.sum()


@dataclass(frozen=True)
class Workload:
    """So many users and keys, with the means of every key's counts."""

    users: int
    keys: int

    @property
    def records(self) -> Floats:
        """How many records each key gets, on average."""
        sizes = zipf_mandelbrot(MOST_RECORDS, 26, 6.738)
        return self.users * float(sizes @ np.arange(1, MOST_RECORDS + 1)) * self.popularity

    @property
    def pairs(self) -> Floats:
        """How many users each key is counted for, on average: of a user at most `ITEMS` different keys."""
        sizes = zipf_mandelbrot(MOST_RECORDS, 26, 6.738)
        few = np.append(sizes[: ITEMS - 1], sizes[ITEMS - 1 :].sum())
        return self.users * sum(share * (1 - (1 - self.popularity) ** n) for n, share in enumerate(few, start=1))

    @property
    def popularity(self) -> Floats:
        """How likely a record is to be of each key."""
        return zipf_mandelbrot(self.keys, 1000, 1.4)

    def rounds(self, number: int, rng: np.random.Generator) -> Iterator[pa.Table]:
        """Yield the records of all users, spread evenly over so many rounds."""
        sizes = rng.choice(np.arange(1, MOST_RECORDS + 1), self.users, p=zipf_mandelbrot(MOST_RECORDS, 26, 6.738))
        owners = np.repeat(np.arange(self.users), sizes)
        keys = np.searchsorted(np.cumsum(self.popularity), rng.random(len(owners)))
        when = rng.permutation(len(owners)) % number
        for at in range(number):
            there = when == at
            yield pa.table({"user": owners[there], "item": np.minimum(keys[there], self.keys - 1)})


@dataclass(frozen=True)
class Expected:
    """What the last release shows, on average."""

    keys: float
    l2: float
    l2_of_records: float

    @classmethod
    def of(cls, mechanism: ContinualHistogram, rounds: int, counts: Floats, records: Floats) -> Expected:
        """Compute it from the means of what is counted, and of all records."""
        threshold, law = mechanism.threshold_after(rounds), mechanism.noise_after(rounds).law
        shown = norm.sf((threshold + 0.5 - counts) / np.sqrt(law.stddev**2 + counts))
        noise = float((shown * law.stddev**2).sum())
        hidden = float(((1 - shown) * (counts**2 + counts)).sum())
        lost = float((shown * (records - counts) ** 2).sum())
        hidden_records = float(((1 - shown) * (records**2 + records)).sum())
        return cls(float(shown.sum()), math.sqrt(noise + hidden), math.sqrt(noise + lost + hidden_records))


def mechanism_for(rounds: int) -> CorrelatedHistogram:
    return CorrelatedHistogram.for_budget(BUDGET, rounds, Sensitivity(ITEMS)).mechanism


def computed() -> tuple[dict[str, float], dict[str, float]]:
    """Print the table at full size; return how far keys and l2 are from the goals."""
    work, rows = Workload(USERS, KEYS), []
    counts, records = work.pairs, work.records
    keys: dict[str, float] = {}
    errors: dict[str, float] = {}
    for rounds, (their_keys, their_l2) in PUBLISHED.items():
        mechanism = mechanism_for(rounds)
        found = Expected.of(mechanism, rounds, counts, records)
        numbers = (rounds, mechanism.threshold_after(rounds), found.keys, their_keys)
        rows.append([f"{number:,.0f}" for number in (*numbers, found.l2, found.l2_of_records, their_l2)])
        keys[f"T = {rounds:,}"] = found.keys / {100: 45_000, 1000: 36_000}[rounds]
        errors[f"T = {rounds:,}"] = found.l2 / {100: 20_000, 1000: 24_000}[rounds]
    head = ("rounds", "threshold", "keys", "keys, DP-SQLP", "l2", "l2 against all records", "l2, DP-SQLP")
    print_table(head, rows)
    return keys, errors


def really_run(rounds: int) -> dict[str, float]:
    """Push a tenth of the users and keys; print what was released beside what was computed."""
    work, rng = Workload(USERS // 10, KEYS // 10), np.random.default_rng(7)
    seconds = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        asked = {"unit": "user", "items_per_user": ITEMS, "budget": BUDGET, "release_every": 1}
        stream = Stream.create(Path(folder) / "s", rounds=rounds, **asked)  # type: ignore[arg-type]
        for rows in work.rounds(rounds, rng):
            release = stream.push(rows)
        assert release is not None
        running = stream._folder.saved(stream.settings, stream._key).running
        labels = running.labels.take(np.arange(len(running.labels))).to_pylist()
        bounded = dict(zip(labels, running.totals.tolist(), strict=True))
        seconds = time.process_time() - seconds
        shown = {row["item"]: row["count"] for row in release.rows}
        l2 = math.sqrt(sum((shown.get(label, 0) - count) ** 2 for label, count in bounded.items()))
    found = Expected.of(mechanism_for(rounds), rounds, work.pairs, work.records)
    print_table(
        ("rounds", "keys, run", "keys, computed", "l2, run", "l2, computed", "processor seconds"),
        [[f"{number:,.0f}" for number in (rounds, len(shown), found.keys, l2, found.l2, seconds)]],
    )
    return {"keys": len(shown) / found.keys, "l2": l2 / found.l2}


def over(mechanism: ContinualHistogram, numbers: list[int], counts: Floats) -> tuple[str, str]:
    """Say the noise and the values shown, on average over some releases."""
    laws = [(mechanism.threshold_after(n), mechanism.noise_after(n).law.stddev) for n in numbers]
    values = statistics.fmean(float(norm.sf((threshold + 0.5 - counts) / wide).sum()) for threshold, wide in laws)
    return f"{statistics.fmean(wide for _, wide in laws):.1f}", f"{values:,.0f}"


def a_year() -> None:
    """Print thresholds, noise and values shown of a year of hours, tree and correlated noise side by side."""
    budget, hours = Budget(epsilon=1, delta="1e-8"), 8760
    counts = 200_000 / np.arange(1, 50_001)
    rows = []
    for items in (1, 3, 10):
        tree = RunningHistogram.for_budget(budget, hours, Sensitivity(items)).mechanism
        ours = CorrelatedHistogram.for_budget(budget, hours, Sensitivity(items)).mechanism
        for name, numbers in (("last", [hours]), ("worst", [8191]), ("mean", list(range(1, hours + 1, 7)))):
            cells = [cell for mechanism in (tree, ours) for cell in over(mechanism, numbers, counts)]
            rows.append([str(items), name, *cells])
    print_table(("items", "release", "noise, tree", "values, tree", "noise, ours", "values, ours"), rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="also push a tenth of it, for minutes")
    parser.add_argument("--rounds", type=int, action="append", help="which of the two to run")
    asked = parser.parse_args()
    print_header("What does a stream of 10 million users show of a million keys? (computed)")
    keys, errors = computed()
    if asked.run:
        print_header("The same with a tenth of the users and keys, really run")
        for rounds in asked.rounds or PUBLISHED:
            close = {name: max(ratio, 1 / ratio) for name, ratio in really_run(rounds).items()}
            print(Target("within 3 % of what is computed", 1.03, at_most=True, measured=close).verdict())
    print_header("A year of hours, 50,000 labels of 200,000/rank events, ε = 1, δ = 1e-8 (computed)")
    a_year()
    print(Target("at least 45,000 and 36,000 keys", 1, at_most=False, measured=keys).verdict())
    print(Target("an l2 error below 20,000 and 24,000", 1, at_most=True, measured=errors).verdict())


if __name__ == "__main__":
    main()
