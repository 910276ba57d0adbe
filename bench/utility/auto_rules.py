"""The numbers in the rules of `auto`: fixed on one half of the tables, checked on the other.

    python -m bench.utility.auto_rules [--measure histogram labels top] [--tables demo W1 …] [--runs 2]

`auto` is a function of question, bounds and budget, so whatever it knows of tables it knows from here. Every
second table by name fixes the numbers, the others only check them. `--measure` asks every question by every method
and writes docs/data/auto_rules.json (an hour or two); without it what is there is read, and the rules are fixed
anew:

1. A histogram of at most so many items a user: Algorithm 1 or noise that ends, by how many users an item needs to
   appear 50, 95 or 99 % of the time. Nothing is drawn: expected numbers are added up over bounded counts.
2. Labels: counts or Bernoulli draws where they need fewer users than a part of what weights need, else rounds.
3. Rankings: found first where Gumbel noise needs more users than so many times the weight that a label needs.

A rule's score is the mean, over all cases, of what the method it takes finds, as a part of what the best one
finds. What a histogram finds is half values, and half values whose count is right to within a tenth.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.measure import print_header
from bench.utility.bounded_tables import TABLES, Rows, cut
from bench.utility.few_items import counts_of, sides_of_histogram, sides_of_truncated
from bench.utility.labels import most_common

import unlisted as ul
from unlisted.counts.weights import Weighing
from unlisted.mechanisms.mechanism import PERCENTS, Mechanism
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds_for_budget import labels_for_budget
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query import choosing
from unlisted.query.options import ITEMS_LOOKED_AT

KEPT = Path(__file__).resolve().parents[2] / "docs" / "data" / "auto_rules.json"
NAMES = sorted((rows.name for rows in TABLES), key=str.lower)
FIX, CHECK = NAMES[::2], NAMES[1::2]
BUDGETS = (("1", "1e-8"), ("3", "1e-6"))
FEW_ITEMS = (1, 2, 3, 4, 5)
BOUNDS = (1, 3, 10, 100)
LENGTHS = (5, 10, 20, 50, 100)
ROUNDS = ("sips", "hints")
SHARES = tuple(Fraction(n, 20) for n in range(10, 21))
RATIOS = tuple(Fraction(n, 2) for n in range(2, 31))
CLOSE = 0.02
"""Methods of which one finds no more than this above the other are equally good."""

Cell = Mapping[str, Any]


@dataclass(frozen=True)
class Rule:
    """A rule with a number in it: what it takes for a case, and which numbers it could have."""

    name: str
    numbers: Sequence[Any]
    ways: tuple[str, ...]
    takes: Callable[[Cell, Any], str]
    now: Any

    def score(self, cells: Iterable[Cell], number: Any) -> float:
        """Return what the rule finds with this number, as a part of what is best in each case."""
        return fmean(self._part(cell, self.takes(cell, number)) for cell in cells)

    def worse(self, cells: Iterable[Cell]) -> int:
        """Return in how many cases the rule as it is takes a way that is clearly not the best."""
        return sum(self._part(cell, self.takes(cell, self.now)) < 1 - CLOSE for cell in cells)

    def best(self, cells: Sequence[Cell]) -> list[Any]:
        """Return all numbers with the best score."""
        scores = {number: round(self.score(cells, number), 4) for number in self.numbers}
        return [number for number, score in scores.items() if score == max(scores.values())]

    def _part(self, cell: Cell, way: str) -> float:
        """Return what a way finds in a case, as a part of what the best one finds: the mean over all measures."""
        measures = [cell[name] for name in ("found", "right") if name in cell]
        best = [max(one[way] for way in self.ways) for one in measures]
        return fmean(one[way] / most if most else 1.0 for one, most in zip(measures, best, strict=True))


def budget_of(cell: Cell) -> ul.Budget:
    return ul.Budget(epsilon=cell["epsilon"], delta=cell["delta"])


def _histogram_taken(cell: Cell, percent: int) -> str:
    needed = cell["needed"]
    return "truncated" if needed["truncated"][str(percent)] <= needed["threshold"][str(percent)] else "threshold"


def _labels_taken(cell: Cell, number: tuple[Fraction, str]) -> str:
    share, rounds = number
    even = cell["even"]
    few = "optimal" if even["optimal"] is not None and even["optimal"] <= even["counts"] else "counts"
    return few if even[few] < share * even["weighted"] else rounds


def _ranking_taken(cell: Cell, ratio: Fraction) -> str:
    return "find" if cell["users"] > ratio * cell["weight"] else "gumbel"


RULES = (
    Rule("histogram", PERCENTS, ("threshold", "truncated"), _histogram_taken, choosing.ENOUGH),
    Rule(
        "labels",
        tuple(product(SHARES, ROUNDS)),
        ("counts", "optimal", *ROUNDS),
        _labels_taken,
        (choosing.COUNTS_ARE_BETTER, "hints"),
    ),
    Rule("top", RATIOS, ("gumbel", "find"), _ranking_taken, Fraction(choosing.FINDING_IS_BETTER)),
)


def kept() -> dict[str, list[dict[str, Any]]]:
    """Return what was measured."""
    found: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text("utf-8"))
    return found


def cells_of(name: str, tables: Sequence[str]) -> list[dict[str, Any]]:
    """Return the cases of one rule on some tables."""
    return [cell for cell in kept()[name] if cell["table"] in tables]


def measured(rule: str, rows: Rows, runs: int) -> list[dict[str, Any]]:
    """Ask one table the questions that a rule is about, by every method."""
    found: list[dict[str, Any]] = []
    for epsilon, delta in BUDGETS:
        named = {"table": rows.name, "epsilon": epsilon, "delta": delta}
        found += [named | cell for cell in _MEASURED[rule](rows, ul.Budget(epsilon=epsilon, delta=delta), runs)]
        print(f"{rows.name}, ε = {epsilon}: {rule}", flush=True)
    return found


def _histograms(rows: Rows, budget: ul.Budget, runs: int) -> Iterable[dict[str, Any]]:  # noqa: ARG001
    yield from (_histogram(rows, items, budget) for items in FEW_ITEMS)


def _histogram(rows: Rows, items: int, budget: ul.Budget) -> dict[str, Any]:
    counts, one = counts_of(rows.name, items), Sensitivity(items)
    assert counts is not None  # the table is here
    usual = ThresholdHistogram.for_budget(budget, one).mechanism.with_randomized_threshold(budget)
    ends = TruncatedHistogram.for_budget(budget, one).mechanism
    sides = {"threshold": sides_of_histogram(usual), "truncated": sides_of_truncated(ends)}
    expected = {way: counts.expected(one) for way, one in sides.items()}
    return {
        "items": items,
        "found": {way: round(values, 2) for way, (values, _) in expected.items()},
        "right": {way: round(counts.right(one), 2) for way, one in sides.items()},
        "error": {way: round(error, 3) for way, (_, error) in expected.items()},
        "needed": {"threshold": _needed(usual), "truncated": _needed(ends)},
    }


def _needed(mechanism: Mechanism[Any]) -> dict[str, int]:
    return {str(percent): users for percent, users in mechanism.accuracy().needed.items()}


def _labels(rows: Rows, budget: ul.Budget, runs: int) -> Iterable[dict[str, Any]]:
    yield from (_labels_at(rows, items, budget, runs) for items in BOUNDS)


def _labels_at(rows: Rows, items: int, budget: ul.Budget, runs: int) -> dict[str, Any]:
    counts, one = counts_of(rows.name, items), Sensitivity(items)
    assert counts is not None  # the table is here
    usual = ThresholdHistogram.for_budget(budget, one).mechanism.with_randomized_threshold(budget)
    optimal = OptimalLabels.for_budget(budget, one).mechanism
    weighted = labels_for_budget(budget, Weighing(items), "weighted").mechanism
    # A declared bound says how many items users have, so it is tried on users who have no more.
    private = ul.table(str(cut(rows, items)), user="user")

    def released(method: Any) -> float:
        plan = private.labels("item", budget=budget, items_per_user=items, method=method)
        return fmean(len(plan.run()) for _ in range(runs))

    return {
        "items": items,
        "found": {
            "counts": round(counts.chosen(usual.chance), 2),
            "optimal": round(counts.chosen(lambda count: float(optimal.chance(count))), 2),
            "weighted": released("weighted"),
            **{method: released(method) for method in ROUNDS},
        },
        "even": {"counts": _even(usual), "optimal": _even(optimal), "weighted": _even(weighted)},
    }


def _even(mechanism: Mechanism[Any]) -> int:
    return mechanism.accuracy().needed[50]


def _rankings(rows: Rows, budget: ul.Budget, runs: int) -> Iterable[dict[str, Any]]:
    """Yield how many of the true top k come out, by each way; no bound on items is said."""
    private, true = ul.table(rows.relation(), user="user"), most_common(rows, max(LENGTHS))
    weight = FindThenCount.for_budget(budget, Weighing(ITEMS_LOOKED_AT)).mechanism.accuracy().at_best
    assert weight is not None  # labels that are weighed know it
    # The first k of one release for every k: each has the law of the ranking that is asked for alone.
    found = [private.top(rows.item, k=max(LENGTHS), budget=budget, method="find").run() for _ in range(runs)]
    for k in LENGTHS:
        drawn = {
            way: [private.top(rows.item, k=k, budget=budget, method=way).run() for _ in range(runs)]
            for way in ("gumbel", "labels")
        }
        ranked = TopK.for_budget(budget, Ranking(k, max(1000, 10 * k), Sensitivity(None))).mechanism
        yield {
            "k": k,
            "found": {
                way: round(fmean(_recall(release, rows.item, true[:k]) for release in releases), 4)
                for way, releases in {**drawn, "find": found}.items()
            },
            "users": ranked.accuracy().needed[95],
            "weight": weight[95],
        }


def _recall(release: ul.Release, item: str, true: Sequence[str]) -> float:
    """Return which part of the true top k is among the first k of a ranking."""
    return len({row[item] for row in release.rows[: len(true)]} & set(true)) / len(true)


_MEASURED: dict[str, Callable[[Rows, ul.Budget, int], Iterable[dict[str, Any]]]] = {
    "histogram": _histograms,
    "labels": _labels,
    "top": _rankings,
}


def tables() -> dict[str, str]:
    """Return the tables that the pages show, from what was measured."""
    first = BUDGETS[0]
    chosen = {
        name: [cell for cell in cells if (cell["epsilon"], cell["delta"]) == first]
        for name, cells in kept().items()
    }
    labels, rankings = ("counts", "optimal", "weighted", *ROUNDS), ("gumbel", "labels", "find")
    rules = {rule.name: rule for rule in RULES}
    return {
        "labels": _markdown(
            ("table", "items per user", *labels, "`auto` takes"),
            [
                [
                    cell["table"],
                    f"{cell['items']:,}",
                    *(f"{cell['found'][one]:,.0f}" for one in labels),
                    rules["labels"].takes(cell, rules["labels"].now),
                ]
                for cell in chosen["labels"]
            ],
        ),
        "rankings": _markdown(
            ("table", "k", *rankings, "`auto` takes"),
            [
                [
                    cell["table"],
                    str(cell["k"]),
                    *(f"{cell['found'][one]:.0%}" for one in rankings),
                    rules["top"].takes(cell, rules["top"].now),
                ]
                for cell in chosen["top"]
            ],
        ),
        "few_items": _markdown(
            (
                "table",
                "items per user",
                "Algorithm 1: values, error",
                "noise that ends: values, error",
                "`auto` takes",
            ),
            [
                [
                    cell["table"],
                    str(cell["items"]),
                    *(
                        f"{cell['found'][way]:,.0f}, ±{cell['error'][way]:.1f}"
                        for way in ("threshold", "truncated")
                    ),
                    rules["histogram"].takes(cell, rules["histogram"].now),
                ]
                for cell in chosen["histogram"]
            ],
        ),
        "rules": _markdown(
            (
                "rule of `auto`",
                "number",
                "score where it was fixed",
                "score on the other tables",
                "clearly worse there",
            ),
            [
                [
                    rule.name,
                    _said(rule.now),
                    f"{rule.score(cells_of(rule.name, FIX), rule.now):.1%}",
                    f"{rule.score(cells_of(rule.name, CHECK), rule.now):.1%}",
                    f"{rule.worse(cells_of(rule.name, CHECK))} of {len(cells_of(rule.name, CHECK))}",
                ]
                for rule in RULES
            ],
        ),
    }


def _said(number: Any) -> str:
    if isinstance(number, tuple):
        return ", ".join(_said(one) for one in number)
    return f"{float(number):g}" if isinstance(number, int | Fraction) else str(number)


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    right = [all(line[at][:1] in "0123456789" for line in lines) for at in range(len(head))]
    ruler = ["---:" if one else "---" for one in right]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ruler, *lines))


def _keep(known: Mapping[str, list[dict[str, Any]]]) -> None:
    """Write what was measured, a line for each case."""
    lines = {name: [json.dumps(cell, ensure_ascii=False) for cell in cells] for name, cells in known.items()}
    body = ",\n".join(f' "{name}": [\n  ' + ",\n  ".join(cells) + "\n ]" for name, cells in lines.items())
    KEPT.write_text("{\n" + body + "\n}\n", encoding="utf-8")


def main() -> None:
    """Measure if asked to; fix every rule on one half, and check it on the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs="*", choices=[*_MEASURED], default=[])
    parser.add_argument("--tables", nargs="*", default=[rows.name for rows in TABLES if rows.is_there])
    parser.add_argument("--runs", type=int, default=2)
    asked = parser.parse_args()
    print_header("What fixes the rules of auto", ("duckdb", "numpy", "pyarrow"))
    known = kept() if KEPT.exists() else {name: [] for name in _MEASURED}
    for rows, rule in product((one for one in TABLES if one.name in asked.tables), asked.measure):
        others = [cell for cell in known[rule] if cell["table"] != rows.name]
        known[rule] = sorted(
            others + measured(rule, rows, asked.runs), key=lambda cell: NAMES.index(cell["table"])
        )
        _keep(known)
    print(f"fixed on {', '.join(FIX)}; checked on {', '.join(CHECK)}\n")
    for rule in RULES:
        best = rule.best(cells_of(rule.name, FIX))
        print(f"{rule.name}: best {', '.join(f'({_said(one)})' for one in best)}; it is {_said(rule.now)}")
    print(f"\n{tables()['rules']}")


if __name__ == "__main__":
    main()
