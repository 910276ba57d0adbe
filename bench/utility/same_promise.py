"""How much each system releases at the same promise, and how far its counts are from the truth.

usage: python -m bench.utility.same_promise [--tables NAME…] [--sides NAME…] [--bounds N…] [--runs N]
                                            [--quick | --others] [--csv FILE]

Every system gets the same (ε, δ) and, at each bound on the items of a user, the same bounded counts, and is used
at its best documented setting. Ours is also asked with no bound at all, which is its default. Compared are the
labels released, how many of the 20 and of the 100 that most users have are among them, and how wrong counts are:
against the bounded count, which hides what bounding dropped, and against the true one. Means over the runs with
95 % confidence intervals. Peers run in their own environments (`make bench-peers`).
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from bench.measure import print_header, print_table
from bench.peer_scripts.scores import MEASURES, Counts, Told
from bench.utility.array_weights import ArrayWeights
from bench.utility.bounded_tables import TABLES, Rows, bounded, pairs
from bench.utility.opponents import OPPONENTS
from bench.utility.promise_records import BOUNDS, BUDGETS, SIDES, Interval, Score, Setting, write
from numpy.typing import NDArray

import unlisted as ul
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.mechanism import Answer
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.privacy.sensitivity import Sensitivity

QUICK = ("1", "1e-8")

OUR_DEFAULT = "unlisted, histogram"
OUR_BOUNDED = "unlisted, histogram at a bound"
OUR_FIRST = "unlisted, Algorithm 1"
OUR_LABELS = "unlisted, labels only"


def ours(setting: Setting, runs: int) -> Told:
    """Ask our own: at a bound what `auto` takes and Algorithm 1, without one the default and labels alone."""
    budget = ul.Budget(epsilon=setting.epsilon, delta=setting.delta)
    if setting.items_per_user is None:
        return _of_rows(setting.rows, budget, runs)
    table = Counts.read(str(bounded(setting.rows, setting.items_per_user)))
    bound = Sensitivity(setting.items_per_user)
    rows = np.arange(len(table.counts))
    plan = ul.counts(rows, table.counts, items_per_user=setting.items_per_user).histogram(budget=budget)
    counts = BoundedCounts(rows, table.counts, bound)
    told: Told = {}
    for name, mechanism in (
        (OUR_BOUNDED, plan.mechanism),
        (OUR_FIRST, ThresholdHistogram.for_budget(budget, bound).mechanism),
    ):
        found = table.scores(_by_row(mechanism.release(counts)) for _ in range(runs))
        threshold = getattr(mechanism, "threshold", None)  # not every way has one
        told[name] = {"threshold": None if threshold is None else float(Fraction(threshold)), **found}
    return told


def _of_rows(rows: Rows, budget: ul.Budget, runs: int) -> Told:
    """Ask about the rows themselves: a user's weights depend on how many items the user has."""
    users, items = _pairs(rows)
    truths = np.bincount(items)
    table = Counts(truths.tolist(), truths.tolist(), list(range(len(truths))))
    asked, rng = ul.table(rows.relation(), user="user"), np.random.default_rng()
    told: Told = {}
    for name, plan in (
        (OUR_DEFAULT, asked.histogram(rows.item, budget=budget)),
        (OUR_LABELS, asked.labels(rows.item, budget=budget, items_per_user=100, method="hints")),
    ):
        answers = (plan.mechanism.release(ArrayWeights(users, items, rng)) for _ in range(runs))
        told[name] = table.scores(map(_by_row, answers), counted=name == OUR_DEFAULT)
        # What it counts is the scaled count, not one within a bound.
        told[name]["error"] = []
    return told


@cache
def _pairs(rows: Rows) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    table = pq.read_table(pairs(rows))
    return table["user"].to_numpy(), table["item"].to_numpy()


def _by_row(answer: Answer) -> dict[int, float]:
    labels: list[Any] = answer.labels.to_pylist()
    return dict(zip(labels, [0.0] * len(labels) if answer.counts is None else answer.counts.tolist(), strict=True))


def compared(setting: Setting, sides: list[str], runs: int) -> Iterator[Score]:
    """Return what every side did in one cell."""
    for side in sides:
        if side == "unlisted":
            told, number = ours(setting, runs), version(side)
        elif setting.items_per_user is None:
            continue
        else:
            opponent = OPPONENTS[side]
            if opponent.runs is not None and (setting.epsilon, setting.delta) != QUICK:
                continue
            path = bounded(setting.rows, setting.items_per_user)
            told, number = opponent.released(setting, path, runs), opponent.version
        yield from (Score.of(system, number, setting, scored) for system, scored in told.items())


def print_cell(setting: Setting, found: list[Score]) -> None:
    where = f"{setting.rows.name}: ε = {setting.epsilon}, δ = {setting.delta}"
    print(f"{where}, items a user: {setting.bound}")
    rows = [
        [
            f"{one.system}, {one.runs} runs",
            "" if one.threshold is None else f"{one.threshold:.1f}",
            *(_said(one.measured[name]) if name in one.measured else "" for name in MEASURES),
        ]
        for one in found
    ]
    print_table(("", "threshold", *MEASURES), rows)


def _said(measured: Interval) -> str:
    return f"{measured[0]:,.2f} ±{measured[1]:,.2f}"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES])
    parser.add_argument("--sides", nargs="*", default=SIDES, choices=SIDES)
    parser.add_argument("--bounds", nargs="*", type=int, default=[0, *BOUNDS], help="0 is no bound")
    parser.add_argument("--runs", type=int, default=20)
    asked = parser.add_mutually_exclusive_group()
    asked.add_argument("--quick", action="store_true", help=f"only ε = {QUICK[0]}, δ = {QUICK[1]}")
    asked.add_argument("--others", action="store_true", help="all budgets but that one")
    parser.add_argument("--csv", type=Path, help="also keep all cells in this file, in place of what they were")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    print_header("How much does each system release at the same promise?")
    sides = [name for name in chosen.sides if name == "unlisted" or OPPONENTS[name].is_there]
    for name in sorted(set(chosen.sides) - set(sides)):
        print(f"left out: {name} (run `make bench-peers` first; Tumult Analytics needs a Java)")
    for name, opponent in OPPONENTS.items():
        if name in sides:
            print(f"{name} {opponent.version}")
    for rows in TABLES:
        if rows.name not in chosen.tables:
            continue
        if not rows.is_there:
            print(f"left out: {rows.name} (not on this machine)\n")
            continue
        budgets = [QUICK] if chosen.quick else [one for one in BUDGETS if one != QUICK or not chosen.others]
        for (epsilon, delta), bound in itertools.product(budgets, chosen.bounds):
            setting = Setting(rows, epsilon, delta, bound or None)
            found = list(compared(setting, sides, chosen.runs))
            if not found:
                continue
            print_cell(setting, found)
            sys.stdout.flush()
            if chosen.csv is not None:
                # After every cell: what was measured is kept if the rest is not.
                write(chosen.csv, found)


if __name__ == "__main__":
    main()
