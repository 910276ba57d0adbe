"""How much each system releases at the same promise.

usage: python -m bench.utility.same_promise [--tables NAME…] [--sides NAME…] [--runs N] [--quick] [--csv FILE]

Every system gets the same bounded counts and the same (ε, δ), and is used at its best documented setting. Compared
are the labels released, how many of the table's true top 100 are among them, and how wrong their counts are, as
means over the runs with 95 % confidence intervals. Peers run in their own environments (`make bench-peers`).
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bench.measure import print_header, print_table
from bench.peer_scripts.scores import Told, counts_of, scores
from bench.utility.bounded_tables import TABLES, TOP, bounded
from bench.utility.labels import most_common
from bench.utility.opponents import OPPONENTS
from bench.utility.promise_records import SIDES, Interval, Score, Setting, interval, write

import unlisted as ul

EPSILONS, DELTAS, BOUNDS = ("0.5", "1", "3"), ("1e-6", "1e-8"), (1, 3, 10, 50)
QUICK = ("1", "1e-8")
OUR_LABELS = "unlisted, labels only (auto)"
LABEL_RUNS = 5
"""Labels alone are counted anew in every run, and asked for at one budget only."""


def ours(setting: Setting, path: Path, runs: int) -> Told:
    """Ask our mechanisms, on counts that are declared to be bounded as they are."""
    counts, is_top = counts_of(str(path))
    budget = ul.Budget(epsilon=setting.epsilon, delta=setting.delta)
    declared = ul.counts(np.arange(len(counts)), counts, items_per_user=setting.items_per_user)
    fetch = 1000
    plans: dict[str, Callable[[], ul.Plan]] = {
        "unlisted, histogram (auto)": lambda: declared.histogram(budget=budget),
        "unlisted, histogram (Laplace)": lambda: declared.histogram(budget=budget, noise="laplace"),
        "unlisted, histogram (Gaussian)": lambda: declared.histogram(budget=budget, noise="gaussian"),
        f"unlisted, top {fetch:,} counts": lambda: declared.top_histogram(budget=budget, fetch=fetch),
        f"unlisted, ranking of {TOP}": lambda: declared.top(k=TOP, budget=budget, fetch="all"),
    }
    told: Told = {}
    for name, made in plans.items():
        plan = made()
        found = scores((_places(plan.run()) for _ in range(runs)), counts, is_top)
        threshold = getattr(plan.mechanism, "threshold", None)  # not every way to rank has one
        told[name] = {"threshold": None if threshold is None else float(Fraction(threshold)), **found}
        if "ranking" in name:
            told[name]["error"] = None
    return told


def our_labels(setting: Setting) -> Told:
    """Ask for labels alone, of the rows themselves: a user's weight depends on how many items the user has."""
    plan = ul.table(setting.rows.relation(), user="user").labels(
        setting.rows.item,
        budget=ul.Budget(epsilon=setting.epsilon, delta=setting.delta),
        items_per_user=setting.items_per_user,
    )
    true = set(most_common(setting.rows, TOP))
    found = [{row[setting.rows.item] for row in plan.run().rows} for _ in range(LABEL_RUNS)]
    released = [float(len(one)) for one in found]
    recall = [len(one & true) / len(true) for one in found]
    return {OUR_LABELS: {"threshold": None, "released": released, "recall": recall, "error": None}}


def _places(release: ul.Release) -> dict[int, float]:
    table = release.to_arrow()
    # A ranking has no counts; its error is not one of counts and is left out of the report.
    counts = table["count"].to_pylist() if "count" in table.column_names else [0.0] * len(table)
    return dict(zip(table["item"].to_pylist(), counts, strict=True))


def compared(setting: Setting, sides: list[str], runs: int) -> Iterator[Score]:
    """Return what every side did in one cell."""
    path = bounded(setting.rows, setting.items_per_user)
    for side in sides:
        if side == "unlisted":
            told, number = ours(setting, path, runs), version(side)
            if (setting.epsilon, setting.delta) == QUICK:
                told |= our_labels(setting)
        else:
            opponent = OPPONENTS[side]
            if opponent.runs is not None and (setting.epsilon, setting.delta) != QUICK:
                continue
            told, number = opponent.released(setting, path, runs), opponent.version
        for system, scored in told.items():
            released, recall = interval(scored["released"]), interval(scored["recall"])
            error = interval(scored["error"]) if len(scored["error"] or ()) > 1 else None
            done, threshold = len(scored["released"]), scored.get("threshold")
            yield Score(system, number, setting, done, threshold, released, recall, error)


def print_cell(setting: Setting, found: list[Score]) -> None:
    where = f"{setting.rows.name}: ε = {setting.epsilon}, δ = {setting.delta}"
    print(f"{where}, {setting.items_per_user} items a user")
    rows = [
        [
            f"{one.system}, {one.runs} runs",
            "" if one.threshold is None else f"{one.threshold:.1f}",
            _said(one.released, 1),
            _said(one.recall, 3),
            "" if one.error is None else _said(one.error, 2),
        ]
        for one in found
    ]
    print_table(("", "threshold", "released", f"recall of top {TOP}", "mean error"), rows)


def _said(measured: Interval, digits: int) -> str:
    return f"{measured[0]:,.{digits}f} ±{measured[1]:,.{digits}f}"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES])
    parser.add_argument("--sides", nargs="*", default=SIDES, choices=SIDES)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help=f"only ε = {QUICK[0]}, δ = {QUICK[1]}")
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
    budgets = [QUICK] if chosen.quick else list(itertools.product(EPSILONS, DELTAS))
    for rows in TABLES:
        if rows.name not in chosen.tables:
            continue
        if not rows.is_there:
            print(f"left out: {rows.name} (not on this machine)\n")
            continue
        for (epsilon, delta), bound in itertools.product(budgets, BOUNDS):
            setting = Setting(rows, epsilon, delta, bound)
            found = list(compared(setting, sides, chosen.runs))
            print_cell(setting, found)
            sys.stdout.flush()
            if chosen.csv is not None and found:
                # After every cell: what was measured is kept if the rest is not.
                write(chosen.csv, found)


if __name__ == "__main__":
    main()
