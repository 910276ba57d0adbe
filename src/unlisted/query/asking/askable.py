"""What may be asked, as methods with every option as a parameter: one for each kind of question.

The options are those of `questions.py`, with the same defaults; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.asking.histograms import Histograms
from unlisted.query.charging import Payer
from unlisted.query.options import each_of
from unlisted.query.questions import (
    Distinct,
    Fetch,
    Item,
    LabelMethod,
    Labels,
    RankingMethod,
    Top,
    Users,
)
from unlisted.tables.count_query import LONGEST_LABEL, Count
from unlisted.tables.groups import Group

if TYPE_CHECKING:
    from unlisted.query.plan import Plan


class Askable(Histograms):
    """A table, or a data set of a service. Each question returns a plan, and touches no data."""

    def top(
        self,
        item: Item,
        *,
        k: int,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        fetch: Fetch | None = None,
        counts: bool = False,
        method: RankingMethod = "auto",
        per_item_epsilon: Number | None = None,
        items_per_user: int | None = None,
        count: Count = "users",
        rows_per_item: int | None = None,
        where: str | None = None,
        by: str | None = None,
        groups: Sequence[Group] | None = None,
        groups_per_user: int | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan a ranking of the k most common values.

        Short rankings are drawn by Gumbel noise (Algorithm 3), and an account pays for the results that come back.
        Longer ones are the first k of a histogram whose values are found first. No bound on items is needed.

        Args:
            item: the column whose values are ranked, or several that together name an item.
            k: how many values to rank.
            budget: what the whole ranking may cost; or say `epsilon`, or `per_item_epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); by default 1e-8. Also beside
                `per_item_epsilon`.
            fetch: read the ranking from so many of the largest counts (k̄), the larger of 1000 and 10·k unless
                said. "all" uses every count and needs `items_per_user`.
            counts: also release the winners' counts; with "find" they cost nothing more.
            method: "gumbel" ranks the largest counts; "labels" finds the labels first and draws a ranking of them;
                "find" takes the first k of what `histogram` finds and counts; "auto" takes "find" where Gumbel
                noise would need many more users.
            per_item_epsilon: the ε of each draw, in place of a budget for all. An account that was opened with
                results and questions supplies it, and the δ.
            items_per_user: the most distinct items one user counts for (L0 contribution bound); where labels are
                found first, how many items of a user help at a time, by default 100.
            count: "users" counts how many users have an item, "rows" how many rows have it.
            rows_per_item: with rows, the most rows of one user that one item counts (L∞ contribution bound).
            where: a condition on rows, such as "device = 'phone'".
            by: answer for each value of this column, a group.
            groups: the groups, as far as everybody may know them; left out, those come that enough users share.
            groups_per_user: the most groups that one user counts in, 1 unless said; of more, a random choice.
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> table.top("query", k=5, budget=ul.Budget(epsilon=1, delta=1e-8)).preview()["plan"]["fetch"]
            1000
        """
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        each = each_of(budget, amounts, per_item_epsilon, self._payer(account))
        told: dict[str, Any] = {
            "k": k,
            "fetch": fetch,
            "counts": counts,
            "method": method,
            "items_per_user": items_per_user,
        }
        told |= {"count": count, "rows_per_item": rows_per_item, "where": where}
        told |= {"by": by, "groups": groups, "groups_per_user": groups_per_user}
        told |= {"items": item, "max_label_bytes": max_label_bytes, "adjacency": adjacency}
        if "delta" not in each:
            told = self._budgeted(Top, told, budget, amounts)
        return self._planned(Top, {**told, **each}, account)

    def labels(
        self,
        item: Item,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        items_per_user: int | None = None,
        method: LabelMethod = "auto",
        where: str | None = None,
        by: str | None = None,
        groups: Sequence[Group] | None = None,
        groups_per_user: int | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the values that enough users share, and nothing else about them (partition selection).

        Args:
            item: the column whose values are looked for, or several that together name an item.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); by default 1e-8.
            items_per_user: the most distinct items of one user that help at a time (L0 contribution bound), by
                default 100.
            method: "weighted" (each item of a user with n items weighs 1/√n), "sips" (the same in rounds, each
                without what was found before), "adaptive" (weight that a label does not need is rerouted to its
                users' other labels), "hints" (in rounds that also leave out labels which look too light),
                "counts" (Algorithm 1 without its counts), "optimal" (a Bernoulli draw for each label, the best
                for users of one item) or "auto".
            where: a condition on rows, such as "device = 'phone'".
            by: answer for each value of this column, a group.
            groups: the groups, as far as everybody may know them; left out, those come that enough users share.
            groups_per_user: the most groups that one user counts in, 1 unless said; of more, a random choice.
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> plan = table.labels("query", budget=ul.Budget(epsilon=1, delta=1e-8))
            >>> plan.complete
            True
        """
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        told: dict[str, Any] = {"items_per_user": items_per_user, "method": method, "where": where}
        told |= {"by": by, "groups": groups, "groups_per_user": groups_per_user}
        told |= {"max_label_bytes": max_label_bytes, "adjacency": adjacency}
        told = self._budgeted(Labels, {"items": item, **told}, budget, amounts)
        return self._planned(Labels, told, account)

    def users(
        self,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        where: str | None = None,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the number of users. One of them changes it by 1, so that a small budget is enough.

        Args:
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); 1e-8 unless said.
            where: a condition on rows, such as "device = 'phone'"; who has such a row is counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> table.users(epsilon="0.1").accuracy.half_width
            30
        """
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        told: dict[str, Any] = {"where": where, "adjacency": adjacency}
        return self._planned(Users, self._budgeted(Users, told, budget, amounts), account)

    def distinct(
        self,
        item: Item,
        *,
        budget: Budget | None = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        items_per_user: int | None = None,
        where: str | None = None,
        max_label_bytes: int = LONGEST_LABEL,
        adjacency: Adjacency = "add_remove",
        account: Payer | None = None,
    ) -> Plan:
        """Plan the number of different values, rare ones included.

        One user may have all values that the bound allows alone, so the noise grows with the bound.

        Args:
            item: the column whose values are counted, or computed as in "lower(query)"; or several of them.
            budget: what the answer may cost, such as `ul.Budget(epsilon=1, delta=1e-8)`; or say `epsilon`.
            epsilon: what the answer may cost, where no `budget` is given. Smaller protects more.
            rho: the same as a ρ of zCDP, in place of ε.
            delta: the δ beside them, far below 1 / (number of users); 1e-8 unless said.
            items_per_user: the most distinct items one user counts for (L0 contribution bound), 100 unless said.
            where: a condition on rows, such as "device = 'phone'".
            max_label_bytes: longer labels are not counted.
            adjacency: "add_remove" protects a user's presence, "replace" also what a present user holds.
            account: the account of a ledger that pays. Without one nobody adds up what was asked before.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> table.distinct("query", epsilon=1, items_per_user=10).accuracy.half_width
            30
        """
        amounts = {"epsilon": epsilon, "rho": rho, "delta": delta}
        told: dict[str, Any] = {"items_per_user": items_per_user, "where": where}
        told |= {"max_label_bytes": max_label_bytes, "adjacency": adjacency}
        return self._planned(Distinct, self._budgeted(Distinct, {"items": item, **told}, budget, amounts), account)
