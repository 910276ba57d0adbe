"""From a question to a plan: what was asked, and the mechanism that was chosen for it, put together.

Without data the plan is a preview. Where the first version would have taken another mechanism, the plan knows that
one too: stored answers to it stay free.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import positive
from unlisted.query import questions
from unlisted.query.charging import Payer, require_payer
from unlisted.query.choosing import AnyMechanism, Chosen, chosen_for
from unlisted.query.data import Data
from unlisted.query.options import sayable
from unlisted.query.plan import Plan
from unlisted.query.question import Question
from unlisted.release.release import as_plain
from unlisted.tables.count_query import CountQuery

AnyQuestion = TypeVar("AnyQuestion", bound=Question)


def plan_of(question: Question, data: Data | None = None, account: Payer | None = None) -> Plan:
    """Choose and calibrate a mechanism. An account counts ρ or μ²; without one the budget is spent at once."""
    chosen = chosen_for(counted_for(question, account), one_shot=account is None)
    return make_plan(question.kind, question.counted, chosen, at_delta_of(question), data).paid_by(account)


def counted_for(question: AnyQuestion, account: Payer | None) -> AnyQuestion:
    """Return a question whose budget is to be added up as the account does that pays."""
    payer = require_payer(account)
    if payer is None or question.budget is None:
        return question
    return replace(question, budget=question.budget.counted_by(payer.accounting))


def make_plan(kind: str, query: CountQuery, chosen: Chosen, at_delta: Fraction, data: Data | None) -> Plan:
    """Put a question and the mechanism that was calibrated for it together."""
    asked: dict[str, Any] = {
        "question": kind,
        "unit": "user",
        "user": data.user if data else None,
        "items": list(query.items) if data else None,
        "count": query.count,
        "items_per_user": query.items_per_user,
        "rows_per_item": query.rows_per_item,
        "where": query.where,
        "max_label_bytes": query.max_label_bytes,
        "adjacency": query.adjacency,
    }
    if query.groups is not None:
        listed = query.groups.listed
        asked |= {
            "by": query.items[0],
            "groups": None if listed is None else [as_plain(one) for one in listed],
            "groups_per_user": query.groups.per_user,
        }
    if query.amounts is not None:
        asked |= {"sum": query.amounts.column, "sum_unit": sayable("sum_unit", Fraction(1, query.amounts.units))}

    def planned(mechanism: AnyMechanism, reason: str) -> Plan:
        return Plan(mechanism, reason, at_delta, {**asked, **mechanism.describe().parameters}, data)

    def formerly() -> Plan | None:
        before = chosen.before() if chosen.before is not None else None
        return None if before is None else planned(before, "the first version took it.")

    return planned(chosen.mechanism, chosen.reason).also_known_as(formerly)


def at_delta_of(question: Question) -> Fraction:
    """Return the δ at which ε is reported: all of a budget in ε; of one in ρ, twice the threshold's."""
    budget = question.budget
    if budget is not None:
        return reported_at(budget)
    assert isinstance(question, questions.Top)  # alone may have a price for each draw
    return 2 * positive("delta", question.delta)


def reported_at(budget: Budget) -> Fraction:
    """Return the δ at which the ε of a budget is reported."""
    return budget.delta if budget.epsilon is not None else 2 * budget.delta
