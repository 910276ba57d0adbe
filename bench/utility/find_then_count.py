"""How many values come out, and how far their counts are off the true ones: labels first, and the histogram.

    python -m bench.utility.find_then_count [--tables demo …] [--runs 20] [--epsilon 1] [--resume]
                                            [--classical | --choices]

Each line is the mean of the runs: how many values were released, and the mean of |released - true| over them,
where the true count is that of all users who have the value, with no bound on anything. With `--classical`, beside
it what Algorithm 1 does at ten and at a hundred items a user, which is low by what it drops. Ends with the targets
of each table, and with what W1 is expected to show at one item a user. With `--choices`, how other ways to choose
how much a user may count for would have done on the same labels.

Each run is kept where the benchmarks keep their data, as soon as it is done; `--resume` counts those that were
made the same day before it was broken off.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import Any

import duckdb
import numpy as np
from bench.data import FOLDER
from bench.measure import Target, print_header
from bench.utility.bounded_tables import TABLES, Rows
from bench.utility.few_items import counts_of, sides_of_truncated

import unlisted as ul
from unlisted.counts.weights import Weighing
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.partition_selection.user_sizes import (
    NOISE_WEIGHT,
    SHRUNK,
    SizesOfUsers,
    by_class,
    size_ends,
    weights_of_sizes,
)
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.bits import fresh_bits
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.tables.count_query import CountQuery
from unlisted.tables.table import table
from unlisted.tables.weighing import weighed

ITEMS = 100
HISTOGRAMS = (10, 100)
VALUES = {"demo": 110, "W1": 890, "online_retail": 135, "npm_owner_words": 4400, "reddit_posts_words": 6700}
ERRORS = {"demo": 50, "W1": 45, "online_retail": 50, "npm_owner_words": 65, "reddit_posts_words": 180}
AT_ONE_ITEM = 415
_CHOICES = 200


@dataclass(frozen=True)
class Measured:
    """What came out of one table, the mean of several runs."""

    values: float
    error: float

    @property
    def cell(self) -> str:
        """A cell of the printed table."""
        return f"{self.values:,.0f}, {self.error:,.1f}"


def measured(
    release: Callable[[], ul.Release], item: str, true: Mapping[Any, int], runs: int, kept: Kept
) -> Measured:
    """Release so often, runs that are kept included, and compare with the true counts."""
    while len(kept.runs) < runs:
        rows = release().rows
        error = fmean(abs(row["count"] - true[row[item]]) for row in rows) if rows else 0.0
        kept.add(len(rows), error)
    return Measured(*(fmean(one) for one in zip(*kept.runs[:runs], strict=True)))


class Kept:
    """The runs of one question, each kept as soon as it is done: values released, and their mean error."""

    def __init__(self, name: str, *, resume: bool) -> None:
        self._path = FOLDER / f"runs-{name}.json"
        self.runs: list[tuple[int, float]] = []
        if resume and self._path.exists():
            found = json.loads(self._path.read_text(encoding="utf-8"))
            self.runs = found["runs"] if found["day"] == _today() else []

    def add(self, values: int, error: float) -> None:
        """Keep one more run."""
        self.runs.append((values, error))
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps({"day": _today(), "runs": self.runs}), encoding="utf-8")


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def true_counts(rows: Rows) -> dict[Any, int]:
    """Return how many users have each value."""
    with duckdb.connect() as connection:
        source = rows.relation()
        if not isinstance(source, str):
            connection.register("source", source)
        name = f"'{source}'" if isinstance(source, str) else "source"
        found = connection.execute(
            f'SELECT "{rows.item}", COUNT(DISTINCT "user") FROM {name} GROUP BY ALL'
        ).fetchall()
    return dict(found)


def choices(rows: Rows, mechanism: FindThenCount, true: Mapping[Any, int]) -> str:
    """Return the mean error of several ways to shrink noisy sizes, for one draw of labels."""
    with weighed(table(rows.relation(), user="user"), CountQuery((rows.item,)), os.urandom(16)) as scales:
        found = len(mechanism.selection.draw(scales, fresh_bits()))
        sizes, ends = scales.sizes_of_users(), size_ends(found)
        errors = {}
        for in_full in ends:
            counts = scales.scaled_counts_of_taken(weights_of_sizes(found, in_full, mechanism.grain))
            bias = [
                true[one] - n / mechanism.grain
                for one, n in zip(counts.labels.to_pylist(), counts.counts, strict=True)
            ]
            errors[in_full] = _mean_error(np.array(bias), math.sqrt(in_full * mechanism.counts_variance))
    rng, deviation = np.random.default_rng(1), mechanism.sizes_law.stddev
    exact = by_class(sizes, ends)
    cells = [f"best {min(errors.values()):,.1f}"]
    for shrunk in (0.0, 1.0, 1.5, 2.0, 3.0):
        # The program shrinks by SHRUNK deviations, whatever deviation it is told.
        noisy = exact + rng.normal(0, deviation, (_CHOICES, len(ends))).round().astype(int)
        told = [SizesOfUsers(tuple(ends), tuple(one), shrunk / SHRUNK * deviation) for one in noisy.tolist()]
        picked = [errors[one.best_in_full(math.sqrt(mechanism.counts_variance))] for one in told]
        cells.append(f"shrunk by {shrunk:g}: {fmean(picked):,.1f}")
    return f"{rows.name}, {found:,} labels: " + "; ".join(cells)


def _mean_error(bias: np.ndarray[Any, Any], deviation: float) -> float:
    """Return the mean of |normal noise - bias|."""
    x = bias / deviation
    tails = np.array([math.erf(one / math.sqrt(2)) for one in x])
    return float(np.mean(deviation * (math.sqrt(2 / math.pi) * np.exp(-(x**2) / 2) + x * tails)))


def at_one_item(name: str, budget: ul.Budget) -> float:
    """Return how many values a table is expected to show with counts if users have one item each."""
    counts = counts_of(name, 1)
    assert counts is not None
    return counts.expected(sides_of_truncated(TruncatedHistogram.for_budget(budget, Sensitivity(1)).mechanism))[0]


def main() -> None:
    """Measure, and print a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES if rows.is_there])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-8")
    parser.add_argument("--classical", action="store_true", help="Algorithm 1 beside it")
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--resume", action="store_true", help="count the runs that were made today")
    chosen = parser.parse_args()
    budget = ul.Budget(epsilon=chosen.epsilon, delta=chosen.delta)
    mechanism = FindThenCount.for_budget(budget, Weighing(ITEMS)).mechanism
    print_header("Values released, and mean error against the true count", ("duckdb", "numpy", "pyarrow"))
    print(f"ε = {chosen.epsilon}, δ = {chosen.delta}, {chosen.runs} runs each; 0.8·s weighs {NOISE_WEIGHT}")
    bounds = HISTOGRAMS if chosen.classical else ()
    print(f"| {' | '.join(['table', 'find, then count', *(f'Algorithm 1, {n} items' for n in bounds)])} |")
    print(f"|---|{'---:|' * (1 + len(bounds))}")
    values, errors = {}, {}
    for rows in (one for one in TABLES if one.name in chosen.tables):
        true, private = true_counts(rows), ul.table(rows.relation(), user="user")
        if chosen.choices:
            print(choices(rows, mechanism, true), flush=True)
            continue
        plan = private.release_with(rows.item, mechanism=mechanism, at_delta=budget.delta)
        named = f"{rows.name}-{chosen.epsilon}-{chosen.delta}"
        ours = measured(plan.run, rows.item, true, chosen.runs, Kept(f"{named}-find", resume=chosen.resume))
        classical = [
            measured(
                private.histogram(rows.item, budget=budget, items_per_user=n).run,
                rows.item,
                true,
                chosen.runs,
                Kept(f"{named}-{n}", resume=chosen.resume),
            )
            for n in bounds
        ]
        print(f"| {' | '.join([rows.name, ours.cell, *(one.cell for one in classical)])} |", flush=True)
        if rows.name in VALUES:
            values[rows.name], errors[rows.name] = ours.values / VALUES[rows.name], ours.error / ERRORS[rows.name]
    if not chosen.choices and (chosen.epsilon, chosen.delta) == ("1", "1e-8"):
        print(Target("values, against what the table should have", 1, at_most=False, measured=values).verdict())
        print(Target("mean error, against what it may be", 1, at_most=True, measured=errors).verdict())
        shown = {"W1": at_one_item("W1", budget) / AT_ONE_ITEM} if "W1" in chosen.tables else {}
        claim = f"values at one item a user, against {AT_ONE_ITEM}"
        print(Target(claim, 1, at_most=False, measured=shown).verdict())


if __name__ == "__main__":
    main()
