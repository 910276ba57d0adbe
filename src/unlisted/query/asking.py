"""What may be asked, as methods with every option as a parameter: `histogram`, `top_histogram`, `top`, `labels`.

The options are those of `questions.py`, with the same defaults; a test compares them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.charging import Payer
from unlisted.query.questions import (
    Fetch,
    Histogram,
    Item,
    LabelMethod,
    Labels,
    Question,
    RankingMethod,
    Top,
    TopHistogram,
    priced_by,
)
from unlisted.tables.count_query import LONGEST_LABEL, Count

if TYPE_CHECKING:
    from unlisted.query.plan import Plan


class Askable(ABC):
    """A table, or a data set of a service. Each question returns a plan, and touches no data."""

    @abstractmethod
    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan a question that was put together elsewhere.

        Args:
            question: one of the kinds in `unlisted.query.questions`.
            account: the account of a ledger that pays.
        """

    def _planned(self, kind: type[Question], told: dict[str, Any], account: Payer | None) -> Plan:
        """Make a question of the options that it was told, and plan it."""
        return self.plan(kind(**told), account=account)

    def histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        noise: Noise = "auto",
        count: Count = "users",
        rows_per_item: int | None = None,
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the counts of every value that enough users share.

        Values are found first (partition selection in rounds), and then counted over all their users, of whom
        those with many values count for less in each. With `items_per_user` it is Algorithm 1 instead: a
        threshold on counts of bounded contributions.

        Args:
            item: the column whose values are counted, or several that together name an item.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`.
            items_per_user: for Algorithm 1, the most distinct items one user counts for (L0 contribution bound).
                Of a user with more, a random choice is counted. Rows, and a noise of your choice, need it.
            noise: the noise distribution: "laplace", "gaussian", or "auto" for the one with the lowest threshold.
            count: "users" counts how many users have an item, "rows" how many rows have it.
            rows_per_item: with rows, the most rows of one user that one item counts (L∞ contribution bound).
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> plan = table.histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8))
            >>> plan.complete
            True
        """
        told: dict[str, Any] = {
            "items_per_user": items_per_user,
            "noise": noise,
            "count": count,
            "rows_per_item": rows_per_item,
        }
        told |= {"where": where, "max_label_bytes": max_label_bytes, "adjacency": adjacency}
        return self._planned(Histogram, {"items": item, "budget": budget, **told}, account)

    def top_histogram(
        self,
        item: Item,
        *,
        budget: Budget,
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
            item: the column whose values are counted, or several that together name an item.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`.
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
        told: dict[str, Any] = {"items_per_user": items_per_user, "fetch": fetch, "noise": noise, "count": count}
        told |= {"rows_per_item": rows_per_item, "where": where}
        told |= {"max_label_bytes": max_label_bytes, "adjacency": adjacency}
        return self._planned(TopHistogram, {"items": item, "budget": budget, **told}, account)

    def top(
        self,
        item: Item,
        *,
        k: int,
        budget: Budget | None = None,
        fetch: Fetch | None = None,
        counts: bool = False,
        method: RankingMethod = "auto",
        per_item_epsilon: Number | None = None,
        delta: Number | None = None,
        items_per_user: int | None = None,
        count: Count = "users",
        rows_per_item: int | None = None,
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan a ranking of the k most common values (Algorithm 3).

        No bound on items per user is needed. An account pays for the results that come back, not for k.

        Args:
            item: the column whose values are ranked, or several that together name an item.
            k: how many values to rank.
            budget: what the whole ranking may cost; or say `per_item_epsilon` and `delta`.
            fetch: read the ranking from so many of the largest counts (k̄), the larger of 1000 and 10·k unless
                said. "all" uses every count and needs `items_per_user`.
            counts: also release the winners' counts.
            method: "gumbel" ranks the largest counts; "labels" finds the labels first and ranks those, which needs
                `items_per_user`; "auto" takes the one that an item enters with less.
            per_item_epsilon: the ε of each draw, in place of a budget for all; with `delta`. An account that was
                opened with results and questions supplies both.
            delta: with `per_item_epsilon`, the δ of the question.
            items_per_user: the most distinct items one user counts for (L0 contribution bound).
            count: "users" counts how many users have an item, "rows" how many rows have it.
            rows_per_item: with rows, the most rows of one user that one item counts (L∞ contribution bound).
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> table.top("query", k=5, budget=ul.Budget(epsilon=1, delta=1e-8)).preview()["plan"]["fetch"]
            1000
        """
        each: dict[str, Any] = {"per_item_epsilon": per_item_epsilon, "delta": delta}
        if budget is None:
            each = priced_by(account, per_item_epsilon, delta)
        told: dict[str, Any] = {
            "k": k,
            "fetch": fetch,
            "counts": counts,
            "method": method,
            "items_per_user": items_per_user,
        }
        told |= {"count": count, "rows_per_item": rows_per_item, "where": where}
        told |= {"max_label_bytes": max_label_bytes, "adjacency": adjacency}
        return self._planned(Top, {"items": item, "budget": budget, **each, **told}, account)

    def labels(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        method: LabelMethod = "auto",
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the values that enough users share, and nothing else about them (partition selection).

        Args:
            item: the column whose values are looked for, or several that together name an item.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`.
            items_per_user: the most distinct items one user counts for (L0 contribution bound).
            method: "weighted" (each item of a user with n items weighs 1/√n), "sips" (the same in rounds, each
                without what was found before), "adaptive" (weight that a label does not need is rerouted to its
                users' other labels), "hints" (in rounds that also leave out labels which look too light),
                "counts" (Algorithm 1 without its counts), "optimal" (a Bernoulli draw for each label, the best
                for users of one item) or "auto".
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> plan = table.labels("query", budget=ul.Budget(epsilon=1, delta=1e-8), items_per_user=100)
            >>> plan.complete
            True
        """
        told: dict[str, Any] = {"items_per_user": items_per_user, "method": method, "where": where}
        told |= {"max_label_bytes": max_label_bytes, "adjacency": adjacency}
        return self._planned(Labels, {"items": item, "budget": budget, **told}, account)
