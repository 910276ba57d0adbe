"""How much each system releases at the same promise.

usage: python -m bench.utility.same_promise [--tables NAME…] [--runs N] [--quick] [--csv FILE]

Every system gets the same bounded counts and the same (ε, δ), and is used at its best documented setting. Compared
are the labels released, how many of the table's true top 100 are among them, and how wrong their counts are, as
means over the runs with 95 % confidence intervals. Peers run in their own environments (`make bench-peers`).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import mean, stdev

import numpy as np
from bench.measure import print_header, print_table
from bench.peer_scripts.scores import counts_of, scores
from bench.peers import OPENDP, PIPELINEDP, Peer
from bench.utility.bounded_tables import TABLES, TOP, Rows, bounded

import unlisted as ul

EPSILONS, DELTAS, BOUNDS = ("0.5", "1", "3"), ("1e-6", "1e-8"), (1, 3, 10, 50)
PEERS: tuple[tuple[Peer, str], ...] = (
    (OPENDP, "opendp_threshold.py"),
    (PIPELINEDP, "pipelinedp_threshold.py"),
)
T_95 = {20: 2.093, 5: 2.776, 3: 4.303, 2: 12.706}
"""Student's 97.5 % quantile for the mean of so many runs; above 20 the one of 20 is on the safe side."""


@dataclass(frozen=True)
class Setting:
    """One cell of the comparison."""

    rows: Rows
    epsilon: str
    delta: str
    items_per_user: int


@dataclass(frozen=True)
class Score:
    """What a system did in one cell: three means, each with half the width of its confidence interval."""

    system: str
    setting: Setting
    threshold: float
    released: tuple[float, float]
    recall: tuple[float, float]
    error: tuple[float, float] | None


def ours(setting: Setting, path: Path, runs: int) -> dict[str, dict[str, object]]:
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
    told: dict[str, dict[str, object]] = {}
    for name, made in plans.items():
        plan = made()
        found = scores((_places(plan.run()) for _ in range(runs)), counts, is_top)
        told[name] = {"threshold": float(Fraction(plan.mechanism.threshold)), **found}
    return told


def _places(release: ul.Release) -> dict[int, float]:
    table = release.to_arrow()
    # A ranking has no counts; its error is not one of counts and is left out of the report.
    counts = table["count"].to_pylist() if "count" in table.column_names else [0.0] * len(table)
    return dict(zip(table["item"].to_pylist(), counts, strict=True))


def theirs(peer: Peer, script: str, setting: Setting, path: Path, runs: int) -> dict[str, dict[str, object]]:
    """Run a peer's script on the same counts."""
    command = peer.command(script, path, setting.epsilon, setting.delta, setting.items_per_user, runs)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    told: dict[str, dict[str, object]] = json.loads(done.stdout)
    return told


def compared(setting: Setting, runs: int) -> Iterator[Score]:
    """Return what every system did in one cell."""
    path = bounded(setting.rows, setting.items_per_user)
    told = ours(setting, path, runs)
    for peer, script in PEERS:
        if peer.is_there:
            told |= theirs(peer, script, setting, path, runs)
    for system, scored in told.items():
        error = None if "ranking" in system else _interval(scored["error"])
        threshold = float(str(scored["threshold"]))
        released, recall = _interval(scored["released"]), _interval(scored["recall"])
        yield Score(system, setting, threshold, released, recall, error)


def _interval(values: object) -> tuple[float, float]:
    assert isinstance(values, list)
    if len(values) < 2:
        return float(mean(values)), float("inf")
    quantile = T_95[max(known for known in T_95 if known <= len(values))]
    return float(mean(values)), quantile * float(stdev(values)) / len(values) ** 0.5


def print_cell(setting: Setting, found: list[Score]) -> None:
    where = f"{setting.rows.name}: ε = {setting.epsilon}, δ = {setting.delta}"
    print(f"{where}, {setting.items_per_user} items a user")
    rows = [
        [
            one.system,
            f"{one.threshold:.1f}",
            _said(one.released, 1),
            _said(one.recall, 3),
            "" if one.error is None else _said(one.error, 2),
        ]
        for one in found
    ]
    print_table(("", "threshold", "released", f"recall of top {TOP}", "mean error"), rows)


def _said(interval: tuple[float, float], digits: int) -> str:
    return f"{interval[0]:,.{digits}f} ±{interval[1]:,.{digits}f}"


def write_csv(path: Path, found: list[Score]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        numbers = ("released", "recall", "error")
        head = [part for name in numbers for part in (name, f"{name}_half_width")]
        writer.writerow(["table", "epsilon", "delta", "items_per_user", "system", "threshold", *head])
        for one in found:
            cell = (one.setting.rows.name, one.setting.epsilon, one.setting.delta, one.setting.items_per_user)
            pairs = (one.released, one.recall, one.error or ("", ""))
            shown = [value if value == "" else f"{value:.6g}" for pair in pairs for value in pair]
            writer.writerow([*cell, one.system, f"{one.threshold:.6g}", *shown])


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="only ε = 1, δ = 1e-8")
    parser.add_argument("--csv", type=Path, help="also write all cells to this file")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    print_header("How much does each system release at the same promise?")
    budgets = [("1", "1e-8")] if chosen.quick else list(itertools.product(EPSILONS, DELTAS))
    found: list[Score] = []
    for rows in TABLES:
        if rows.name not in chosen.tables:
            continue
        if not rows.is_there:
            print(f"left out: {rows.name} (not on this machine)\n")
            continue
        for (epsilon, delta), bound in itertools.product(budgets, BOUNDS):
            setting = Setting(rows, epsilon, delta, bound)
            cell = list(compared(setting, chosen.runs))
            found += cell
            print_cell(setting, cell)
            sys.stdout.flush()
            if chosen.csv is not None:
                # After every cell: what was measured is kept if the rest is not.
                write_csv(chosen.csv, found)


if __name__ == "__main__":
    main()
