"""Counts of values: `histogram` and `top_histogram`, with every option as a parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.asking.asking import Asking
from unlisted.query.charging import Payer
from unlisted.query.questions import (
    Histogram,
    HistogramMethod,
    Item,
    TopHistogram,
)
from unlisted.tables.count_query import LONGEST_LABEL, Count
from unlisted.tables.groups import Group

if TYPE_CHECKING:
    from unlisted.query.plan import Plan


class Histograms(Asking):
    """The questions for counts."""

    def histogram(
        self,
        item: Item,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        items_per_user: int | None = None,
        noise: Noise = "auto",
        method: HistogramMethod = "auto",
        count: Count = "users",
        rows_per_item: int | None = None,
        where: str | None = None,
        by: str | None = None,
        groups: Sequence[Group] | None = None,
        groups_per_user: int | None = None,
        with_totals: bool = False,
        other: bool = False,
        sum: str | None = None,  # noqa: A002 - the field's own word
        max_per_item: Number | None = None,
        min_per_item: Number | None = None,
        sum_unit: Number | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of every value that enough users share.

        Values are found first (partition selection in rounds), and then counted over all their users, of whom
        those with many values count for less in each. With `items_per_user` it is Algorithm 1 instead: a
        threshold on counts of bounded contributions.

        Args:
            item: the column whose values are counted, or computed as in "lower(query)"; or several of them.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); by default 1e-8.
            items_per_user: for Algorithm 1, the most distinct items one user counts for (L0 contribution bound).
                Of a user with more, a random choice is counted. Rows, and a noise of your choice, need it. Where
                values are found first, it is how many items of a user help at a time, by default 100.
            noise: the noise distribution of Algorithm 1: "laplace", "gaussian", or "auto" for the one with the
                lowest threshold, or for users of few items Laplace noise that ends, if fewer users are needed.
            method: "find" finds the values first, "threshold" is Algorithm 1; "auto" takes the latter where
                `items_per_user` is given.
            count: "users" counts how many users have an item, "rows" how many rows have it.
            rows_per_item: with rows, the most rows of one user that one item counts (L∞ contribution bound).
            where: a condition on rows, such as "device = 'phone'".
            by: answer for each value of this column, a group.
            groups: the groups, as far as everybody may know them; left out, those come that enough users share.
            groups_per_user: the most groups that one user counts in, 1 unless said; of more, a random choice.
            with_totals: with values found first, also how many users have any; see `release.shares()`.
            other: with values found first, also how many users have one that is not shown.
            sum: with values found first, also the sum of this column for each value that is shown, and the mean
                for each of its users. Values are chosen by their users, never by money.
            max_per_item: with `sum`, the most that one user's amount for one item counts.
            min_per_item: with `sum`, the least, 0 or below; 0 unless said, so that less counts as 0.
            sum_unit: with `sum`, the unit in which sums are exact, such as "0.01" for cents; 1 by default.
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> plan = table.histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8))
            >>> plan.complete
            True
        """
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        told: dict[str, Any] = {
            "items_per_user": items_per_user,
            "noise": noise,
            "method": method,
            "count": count,
            "rows_per_item": rows_per_item,
        }
        told |= {"by": by, "groups": groups, "groups_per_user": groups_per_user}
        told |= {"with_totals": with_totals, "other": other, "sum": sum, "max_per_item": max_per_item}
        told |= {"min_per_item": min_per_item, "sum_unit": sum_unit}
        told |= {"where": where, "max_label_bytes": max_label_bytes, "adjacency": adjacency}
        told = self._budgeted(Histogram, {"items": item, **told}, budget, amounts)
        return self._planned(Histogram, told, account)

    def top_histogram(
        self,
        item: Item,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        items_per_user: int | None = None,
        fetch: int = 1000,
        noise: Noise = "auto",
        count: Count = "users",
        rows_per_item: int | None = None,
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of the most common values, from the largest counts alone (Algorithm 2).

        Args:
            item: the column whose values are counted, or computed as in "lower(query)"; or several of them.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); by default 1e-8.
            items_per_user: the most distinct items one user counts for (L0 contribution bound); none is needed.
            fetch: how many of the largest counts the engine hands over (k̄), and one more.
            noise: the noise distribution: "laplace", "gaussian", or "auto" for the one with the lowest threshold.
            count: "users" counts how many users have an item, "rows" how many rows have it.
            rows_per_item: with rows, the most rows of one user that one item counts (L∞ contribution bound).
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> plan = table.top_histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8), fetch=100)
            >>> plan.complete
            False
        """
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        told: dict[str, Any] = {"items_per_user": items_per_user, "fetch": fetch, "noise": noise, "count": count}
        told |= {"rows_per_item": rows_per_item, "where": where}
        told |= {"max_label_bytes": max_label_bytes, "adjacency": adjacency}
        told = self._budgeted(TopHistogram, {"items": item, **told}, budget, amounts)
        return self._planned(TopHistogram, told, account)
