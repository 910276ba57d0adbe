"""Which way to rank finds more of the true top k: Gumbel noise on the largest counts, or labels first.

    python -m bench.utility.top_methods [--tables demo W1 …] [--runs 3] [--shares]

For each table, k, budget and bound on items per user it prints how many of the true top k came out, by both ways
and by what `auto` takes, and how often `auto` took the better one. With `--shares` it compares how much of ρ finds
the labels. The rule of `query/planner.py` and the share of `partition_selection/then_rank.py` were
fixed from what this prints.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from statistics import fmean
from unittest.mock import patch

from bench.measure import print_header, print_table
from bench.utility.bounded_tables import TABLES, Rows
from bench.utility.labels import most_common

import unlisted as ul
from unlisted.mechanisms.partition_selection import then_rank
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.query.questions import RankingMethod

LENGTHS = (5, 20, 100)
BUDGETS = (("1", "1e-8"), ("3", "1e-6"))
BOUNDS = (10, 100)
SHARES = (Fraction(1, 10), Fraction(1, 4), Fraction(1, 2))
CLOSE = 0.02
"""Ways whose share of the true top k differs by no more are equally good."""


def recall(rows: Rows, k: int, budget: ul.Budget, bound: int, method: RankingMethod, runs: int) -> float:
    """Return which part of the true top k came out."""
    plan = _plan(rows, k, budget, bound, method)
    true = set(most_common(rows, k))
    return fmean(len({row[rows.item] for row in plan.run().rows} & true) / len(true) for _ in range(runs))


def _plan(rows: Rows, k: int, budget: ul.Budget, bound: int, method: RankingMethod) -> ul.Plan:
    private = ul.table(rows.relation(), user="user")
    # A ranking by Gumbel noise alone is better without a bound.
    items = None if method == "gumbel" else bound
    return private.top(rows.item, k=k, budget=budget, items_per_user=items, method=method)


def compared(tables: list[str], runs: int) -> Iterator[list[str]]:
    """Yield a row for each case: both ways, and what the rule says."""
    for rows, (epsilon, delta), k, bound in product(TABLES, BUDGETS, LENGTHS, BOUNDS):
        if rows.name not in tables:
            continue
        budget = ul.Budget(epsilon=epsilon, delta=delta)
        gumbel, labels = (recall(rows, k, budget, bound, way, runs) for way in ("gumbel", "labels"))
        taken = "labels" if isinstance(_plan(rows, k, budget, bound, "auto").mechanism, LabelRanking) else "gumbel"
        better = "either" if abs(gumbel - labels) <= CLOSE else "labels" if labels > gumbel else "gumbel"
        verdict = "" if better in ("either", taken) else f"{better} is better"
        name = f"{rows.name}, k = {k}, ε = {epsilon}, {bound} items"
        yield [name, f"{gumbel:.0%}", f"{labels:.0%}", taken, verdict]


def shares(tables: list[str], runs: int) -> Iterator[list[str]]:
    """Yield a row for each case: the part of the true top k by how much of ρ finds the labels."""
    for rows, (epsilon, delta), k, bound in product(TABLES, BUDGETS, LENGTHS, BOUNDS):
        if rows.name not in tables:
            continue
        found = []
        for share in SHARES:
            with patch.object(then_rank, "LABELS_SHARE", share):
                found.append(recall(rows, k, ul.Budget(epsilon=epsilon, delta=delta), bound, "labels", runs))
        yield [f"{rows.name}, k = {k}, ε = {epsilon}, {bound} items", *(f"{one:.0%}" for one in found)]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES if rows.is_there])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shares", action="store_true")
    chosen = parser.parse_args()
    print_header("Which way to rank finds more of the true top k?", ("duckdb", "numpy", "pyarrow"))
    if chosen.shares:
        head = ["case", *(f"{float(share):.0%} of ρ" for share in SHARES)]
        print_table(head, list(shares(chosen.tables, chosen.runs)))
        return
    lines = list(compared(chosen.tables, chosen.runs))
    print_table(["case", "gumbel", "labels", "auto takes", ""], lines)
    worse = sum(bool(one[-1]) for one in lines)
    print(f"auto took a way that is worse by more than {CLOSE:.0%} in {worse} of {len(lines)} cases")


if __name__ == "__main__":
    main()
