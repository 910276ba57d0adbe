"""Questions whose plans are golden: their names in a ledger, prices, thresholds and noise do not change.

`plans()` yields a name for each question, and the plan that the library makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa

import unlisted as ul
from unlisted.privacy.accounting import ZCDP

ROWS = pa.table({"user": [1], "dish": ["soup"], "place": ["home"], "price": [1.5], "day": [3]})
BUDGETS = {
    "(1, 1e-8)": {"budget": ul.Budget(epsilon=1, delta="1e-8")},
    "(0.1, 1e-6)": {"budget": ul.Budget(epsilon="0.1", delta="1e-6")},
    "rho 0.05": {"budget": ul.Budget(rho="0.05", delta="1e-9")},
}
BOUNDS = {"1 item": {"items_per_user": 1}, "10 items": {"items_per_user": 10}}
COUNTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "rows": {"count": "rows", "rows_per_item": 3},
    "where": {"where": "place = 'home' AND price > 1"},
    "replace": {"adjacency": "replace"},
    "short labels": {"max_label_bytes": 20},
}
EACH = {"per_item_epsilon": "0.1", "delta": "1e-9"}


class Payer:
    """An account for plans that are never run."""

    name = "ads-team"
    accounting = ZCDP
    result_epsilon = Fraction(1, 4)
    question_delta = Fraction(1, 10**9)

    def has_answered(self, *_: object) -> bool:
        """Nobody asks."""
        return False

    def pay(self, *_: object) -> Any:
        """Nobody gets here."""
        raise AssertionError


def plans() -> Iterator[tuple[str, ul.Plan]]:
    """Yield every question and its plan."""
    for name, kind, item, told in questions():
        yield name, getattr(ul.table(ROWS, user="user"), kind)(item, **told)


def questions() -> Iterator[tuple[str, str, Any, dict[str, Any]]]:
    """Yield (name, method of a table, item, options)."""
    for money, budget in BUDGETS.items():
        for bound, items in BOUNDS.items():
            for way, counting in COUNTINGS.items():
                told = {**budget, **items, **counting}
                yield f"histogram {money} {bound} {way}", "histogram", "dish", told
                yield f"top_histogram {money} {bound} {way}", "top_histogram", "dish", told | {"fetch": 50}
                if way in ("plain", "replace"):
                    yield f"labels {money} {bound} {way}", "labels", "dish", told
        for method in ("counts", "weighted", "sips", "adaptive", "hints"):
            told = {**budget, "items_per_user": 4, "method": method}
            yield f"labels {money} by {method}", "labels", "dish", told
        yield f"top {money}", "top", "dish", {**budget, "k": 5}
        yield f"top {money} counts", "top", "dish", {**budget, "k": 5, "counts": True}
        yield f"top {money} all", "top", "dish", {**budget, "k": 5, "fetch": "all", "items_per_user": 3}
        yield f"top {money} labels", "top", "dish", {**budget, "k": 5, "method": "labels", "items_per_user": 30}
        yield f"histogram {money} find then count", "histogram", "dish", budget
        yield f"histogram {money} 2 items", "histogram", "dish", {**budget, "items_per_user": 2}
        yield f"top {money} by find", "top", "dish", {**budget, "k": 200}
        yield f"top {money} counts by find", "top", "dish", {**budget, "k": 200, "counts": True}
        yield f"top {money} long", "top", "dish", {**budget, "k": 200, "items_per_user": 10}
        yield f"labels {money} without a bound", "labels", "dish", budget
        told = {**budget, "sum": "price", "max_per_item": 50, "min_per_item": -1, "sum_unit": "0.01"}
        yield f"histogram {money} with sums", "histogram", "dish", told
        yield f"histogram {money} with totals", "histogram", "dish", {**budget, "with_totals": True, "other": True}
    yield "replace find then count", "histogram", "dish", {**BUDGETS["(1, 1e-8)"], "adjacency": "replace"}
    yield "optimal", "labels", "dish", {**BUDGETS["(1, 1e-8)"], "items_per_user": 1, "method": "optimal"}
    yield "two columns", "histogram", ["dish", "place"], {**BUDGETS["(1, 1e-8)"], "items_per_user": 2}
    yield "no bound", "top_histogram", "dish", {**BUDGETS["(1, 1e-8)"], "fetch": 10}
    yield "each draw", "top", "dish", {**EACH, "k": 20}
    yield "an account's price", "top", "dish", {"k": 20, "account": Payer()}
    yield (
        "1 item on an account",
        "histogram",
        "dish",
        {**BUDGETS["rho 0.05"], "items_per_user": 1, "account": Payer()},
    )
    yield "on an account", "histogram", "dish", {**BUDGETS["(1, 1e-8)"], "items_per_user": 10, "account": Payer()}
    yield (
        "labels on an account",
        "labels",
        "dish",
        {**BUDGETS["(1, 1e-8)"], "items_per_user": 10, "account": Payer()},
    )
    for noise in ("laplace", "gaussian"):
        told = {**BUDGETS["(1, 1e-8)"], "items_per_user": 2, "noise": noise}
        yield f"histogram {noise}", "histogram", "dish", told
        yield f"top_histogram {noise}", "top_histogram", "dish", told
