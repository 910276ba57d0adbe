"""`ul.Session`: a budget in ε for one person at work in a notebook, kept in memory.

Every question says its ε, and what was said adds up: the session is a privacy filter by basic composition
(`privacy/lemma.md`, section 5). Asking the same question again returns the same release at no cost, so that a cell
may be run twice. It ends with the process; a budget that several people or days share is a ledger's (`ul.Ledger`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from threading import RLock
from typing import Any

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.privacy.filter import EpsilonFilter
from unlisted.privacy.guarantee import Budget, EpsilonDelta
from unlisted.privacy.numbers import Number
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.asking.askable import Askable
from unlisted.query.charging import Payer
from unlisted.query.data import Data
from unlisted.query.options import budget_of
from unlisted.query.plan import Plan
from unlisted.query.planner import reported_at
from unlisted.query.private_table import PrivateTable
from unlisted.query.question import Question
from unlisted.release.html import bar, card
from unlisted.release.release import Release, short_up

_BAR = 24


class Session(Askable):
    """A table with a budget in ε that nothing asked through the session can exceed.

    Args:
        table: what `ul.table` or `ul.dataset` returned.
        budget: what all questions together may cost, such as `ul.Budget(epsilon=3)`; or say `epsilon`.
        epsilon: the same as a number.
        delta: the δ of all questions together, 1e-8 unless said. A question that says none gets as much of it as
            its ε is of the whole.
        adjacency: whom all questions protect.

    Examples:
        >>> session = ul.Session(ul.table(searches(), user="user"), epsilon=3)
        >>> first = session.histogram("query", epsilon=1).run()
        >>> again = session.histogram("query", epsilon=1).run()
        >>> first is again, float(session.left)
        (True, 2.0)
    """

    def __init__(
        self,
        table: object,
        budget: Budget | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        adjacency: Adjacency = "add_remove",
    ) -> None:
        if not isinstance(table, PrivateTable):
            hint = 'For example: ul.Session(ul.table("searches.csv", user="user_id"), epsilon=3).'
            raise InvalidArgumentError("table", type(table).__name__, "what ul.table returned", hint)
        whole = budget_of(budget, {"epsilon": epsilon, "delta": delta})
        if whole.epsilon is None:
            hint = "A session adds up ε. For totals in ρ, open an account in a ul.Ledger."
            raise InvalidArgumentError("budget", whole, "a budget in ε", hint)
        if adjacency not in ("add_remove", "replace"):
            raise InvalidArgumentError("adjacency", adjacency, "'add_remove' or 'replace'")
        self._table = table
        self._adjacency = adjacency
        self._filter = EpsilonFilter(EpsilonDelta(whole.epsilon, whole.delta))
        self._answered: dict[str, tuple[str, Fraction, Release]] = {}
        self._lock = RLock()

    @property
    def total(self) -> Fraction:
        """The ε of all questions together."""
        return self._filter.total.epsilon

    @property
    def spent(self) -> Fraction:
        """The ε of what was asked so far."""
        return self._filter.spent.epsilon

    @property
    def left(self) -> Fraction:
        """The ε that is left."""
        return self.total - self.spent

    @property
    def releases(self) -> list[Release]:
        """Every answer so far, in the order in which they came."""
        return [release for _, _, release in self._answered.values()]

    def columns(self) -> Mapping[str, Any]:
        """Return the columns of the table and what they hold, without touching a row."""
        return self._table.columns()

    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan a question that was put together elsewhere, paid by the session.

        Args:
            question: the question, from `unlisted.query.questions`.
            account: must be left out: the session pays.
        """
        if account is not None:
            raise InvalidArgumentError("account", account, "left out", "The session pays.")
        if question.adjacency != self._adjacency:
            hint = "Give adjacency= when you create the session: a total holds for one kind of neighbours."
            raise InvalidArgumentError("adjacency", question.adjacency, f"{self._adjacency!r} here", hint)
        if question.budget is None:
            hint = "Say epsilon= for the whole ranking; a session charges all of it."
            raise InvalidArgumentError(
                "per_item_epsilon", question.said().get("per_item_epsilon"), "left out", hint
            )
        plan = self._table.plan(question)
        cost = self._cost(question.budget, plan)
        kept = {one.name: getattr(plan, one.name) for one in fields(Plan)}
        return SessionPlan(**kept, session=self, cost=cost).checked()

    def _planned(self, kind: type[Question], told: dict[str, Any], account: Payer | None) -> Plan:
        told["adjacency"] = self._adjacency if told["adjacency"] == "add_remove" else told["adjacency"]
        # A data set of the project brings bounds of its own.
        return self.plan(kind(**self._table.filled(kind, told)), account=account)

    def _budget(self, budget: Budget | None, amounts: Mapping[str, Any]) -> Budget:
        """Return what a question may cost: a δ that was not said is its share of the session's."""
        said = budget_of(budget, amounts)
        if budget is not None or amounts.get("delta") is not None or said.epsilon is None:
            return said
        share = self._filter.total.delta * min(Fraction(1), said.epsilon / self.total)
        return Budget(epsilon=said.epsilon, delta=share)

    def _cost(self, budget: Budget, plan: Plan) -> EpsilonDelta:
        """Return the (ε, δ) of a question: what it asked for in ε, else what its ρ is at its δ."""
        delta = reported_at(budget)
        asked = budget.epsilon
        if asked is not None and plan.guarantee.implies(asked, delta):
            return EpsilonDelta(asked, delta)
        return EpsilonDelta(plan.guarantee.epsilon(delta), delta)

    def _run(self, plan: SessionPlan, data: Data) -> Release:
        """Answer a question: from memory if it was answered before, else by charging first and running then."""
        name = plan.charge_for(data).question
        with self._lock:
            if name in self._answered:
                return self._answered[name][2]
            # Before rows are touched: what cannot be answered here costs nothing.
            self._filter.require(plan.cost)
            plan._rehearse(data)
            self._filter.spend(plan.cost)
            release = plan._answered(data)
            if isinstance(release, ChargedFailureError):
                raise ChargedFailureError(f"the session stays charged with ε = {short_up(plan.cost.epsilon, 6)}")
            if isinstance(release, BaseException):
                release.add_note(f"The session stays charged with ε = {short_up(plan.cost.epsilon, 6)}.")
                raise release
            self._answered[name] = (_question(plan), plan.cost.epsilon, release)
            return release

    def __repr__(self) -> str:
        filled = round(_BAR * float(self.spent / self.total))
        drawn = "█" * filled + "░" * (_BAR - filled)
        lines = [f"Session: {drawn} {_said(self._filter)}"]
        lines += [f"  ε = {short_up(epsilon, 6)}  {asked}" for asked, epsilon, _ in self._answered.values()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        lines = [f"ε = {short_up(epsilon, 6)}: {asked}" for asked, epsilon, _ in self._answered.values()]
        drawn = f"<div>{bar(float(self.spent), float(self.total), 30)}</div>"
        return card(f"Session: {_said(self._filter)}", body=drawn, lines=lines)


@dataclass(frozen=True, repr=False)
class SessionPlan(Plan):
    """A plan that a session pays for."""

    session: Session = field(kw_only=True, compare=False)
    cost: EpsilonDelta = field(kw_only=True)

    def run(self, *, idempotency_key: str | None = None) -> Release:
        """Touch the data, once, and release the answer; asked again, the same release comes back at no cost."""
        if idempotency_key is not None:
            hint = "A session knows which questions were asked before, and answers them from memory."
            raise InvalidArgumentError("idempotency_key", idempotency_key, "left out in a session", hint)
        assert self.data is not None  # a session has a table
        return self.session._run(self, self.data)

    def __repr__(self) -> str:
        return f"{super().__repr__()}\nPaid by: the session, {_said(self.session._filter)}"


def _said(spent: EpsilonFilter) -> str:
    """Say how much of a session is spent: the spent rounded up."""
    return (
        f"ε = {short_up(spent.spent.epsilon, 6)} of {short_up(spent.total.epsilon, 6)} spent, "
        f"δ = {short_up(spent.spent.delta, 3)} of {short_up(spent.total.delta, 3)}"
    )


def _question(plan: Plan) -> str:
    """Name a question in a few words."""
    asked = plan.asked
    where = f" where {asked['where']}" if asked.get("where") else ""
    return f"{asked['question']} of {', '.join(asked['items'])}{where}"
