"""How many labels come out when only labels are asked for, by each method, against those of our own histogram.

    python -m bench.utility.labels [--tables demo npm_owner_words …] [--runs 3] [--epsilon 1] [--delta 1e-8]

Prints the table of docs/labels.md, and the target: twice the histogram's labels at 100 items a user on
npm_owner_words and reddit_posts_words. Each figure is the mean of the runs, and so is `of the true top 1,000`: how
many of the thousand labels that most users have came out.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from statistics import fmean

import duckdb
from bench.measure import Target, print_header
from bench.utility.bounded_tables import TABLES, Rows

import unlisted as ul
from unlisted.query.questions import LabelMethod

METHODS: tuple[LabelMethod, ...] = ("counts", "optimal", "weighted", "adaptive", "sips", "hints", "auto")
BOUNDS = (1, 2, 3, 10, 100)
HELD_TO = ("npm_owner_words", "reddit_posts_words")
TARGET = 2
MOST_COMMON = 1000


@dataclass(frozen=True)
class Measured:
    """What came out of one table under one bound: labels, and those of the true top, by method."""

    rows: Rows
    bound: int
    labels: dict[LabelMethod, float]
    common: dict[LabelMethod, float]

    @property
    def line(self) -> str:
        """A row of the printed table."""
        cells = [f"{self.labels[method]:,.0f} ({self._times(method):.2f}x)" for method in METHODS]
        best = f"{self.common['auto']:,.0f} / {self.common['counts']:,.0f}"
        return f"| {self.rows.name} | {self.bound} | {' | '.join(cells)} | {best} |"

    def _times(self, method: LabelMethod) -> float:
        return self.labels[method] / max(1.0, self.labels["counts"])

    @property
    def gained(self) -> float:
        """How many times the labels of the histogram `auto` released."""
        return self._times("auto")


def measure(rows: Rows, bound: int, budget: ul.Budget, runs: int) -> Measured:
    """Release the labels of a table by every method."""
    private = ul.table(rows.relation(), user="user")
    common = set(most_common(rows, MOST_COMMON))
    released: dict[LabelMethod, list[set[str]]] = {}
    for method in METHODS:
        plan = private.labels(rows.item, budget=budget, items_per_user=bound, method=method)
        released[method] = [{row[rows.item] for row in plan.run().rows} for _ in range(runs)]
    return Measured(
        rows,
        bound,
        {method: fmean(len(one) for one in each) for method, each in released.items()},
        {method: fmean(len(one & common) for one in each) for method, each in released.items()},
    )


def most_common(rows: Rows, k: int) -> list[str]:
    """Return the labels that most users have, ties by label."""
    with duckdb.connect() as connection:
        source = rows.relation()
        if not isinstance(source, str):
            connection.register("source", source)
        name = f"'{source}'" if isinstance(source, str) else "source"
        found = connection.execute(
            f'SELECT "{rows.item}" FROM {name} GROUP BY ALL ORDER BY COUNT(DISTINCT "user") DESC, 1 LIMIT {k}'
        ).fetchall()
    return [label for (label,) in found]


def main() -> None:
    """Measure, and print a table of Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES if rows.is_there])
    parser.add_argument("--bounds", nargs="*", type=int, default=BOUNDS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", default="1e-8")
    chosen = parser.parse_args()
    budget = ul.Budget(epsilon=chosen.epsilon, delta=chosen.delta)
    print_header("How many labels come out?", ("duckdb", "numpy", "pyarrow"))
    print(f"ε = {chosen.epsilon}, δ = {chosen.delta}, {chosen.runs} runs each")
    print(f"| table | items per user | {' | '.join(METHODS)} | of the true top {MOST_COMMON:,}: auto / counts |")
    print(f"|---|---:|{'---:|' * len(METHODS)}---:|")
    gained = {}
    for rows in TABLES:
        for bound in chosen.bounds if rows.name in chosen.tables else ():
            measured = measure(rows, bound, budget, chosen.runs)
            print(measured.line, flush=True)
            if rows.name in HELD_TO and bound == max(BOUNDS):
                gained[f"{rows.name}, {bound} items a user"] = measured.gained
    claim = f"at least {TARGET}x the labels of our histogram, at {max(BOUNDS)} items a user"
    print(Target(claim, TARGET, at_most=False, measured=gained).verdict())


if __name__ == "__main__":
    main()
