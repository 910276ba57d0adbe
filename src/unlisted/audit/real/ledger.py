"""Several questions on one account of a real ledger, each chosen knowing the answers before.

Every run opens a data set of its own in one ledger file, so runs do not share a budget. The claim is the account's
total; what a question costs, what comes back and when one is refused is decided by the ledger.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

from unlisted.audit.interactions import REFUSED
from unlisted.audit.real.rows import output_of
from unlisted.audit.subject import Output, Pair, Subject
from unlisted.errors import BudgetRefusedError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.terms import ResultsBudget
from unlisted.query.charging import Payer
from unlisted.query.plan import Plan
from unlisted.query.private_counts import counts

Histogram = Mapping[str, int]
Ask = Callable[[Histogram, Payer, tuple[Output, ...]], Plan | None]
"""The next question on an account, chosen from the answers so far; None when there is none."""


def ledger_subject(name: str, folder: Path, total: ResultsBudget, ask: Ask, pairs: list[Pair]) -> Subject:
    """Audit all the answers that one account gives, in a ledger that is kept in a folder."""
    ledger, numbers = Ledger(folder / "audit.db"), itertools.count(1)

    def run(histogram: Histogram) -> Output:
        number = next(numbers)
        account = ledger.open(f"analyst {number}", dataset=f"run {number}", budget=total)
        answers: tuple[Output, ...] = ()
        while (plan := ask(histogram, account, answers)) is not None:
            try:
                answers = (*answers, output_of(plan.run(), "item"))
            except BudgetRefusedError:
                answers = (*answers, REFUSED)
        return answers

    return Subject(name, total.amount(ZCDP).guarantee(), lambda: pairs, run)


def pay_what_you_get(folder: Path) -> Subject:
    """Return three rankings on an account for five results, the last of which fits only if draws came back."""
    total = ResultsBudget(results=5, questions=3, epsilon="0.5", delta="0.01")

    def ask(histogram: Histogram, account: Payer, answers: tuple[Output, ...]) -> Plan | None:
        if len(answers) == 3:
            return None
        private = counts(list(histogram), list(histogram.values()), items_per_user=1)
        return private.top(k=2, fetch=2, account=account)

    # Where a label is about as likely as ⊥, one user moves every draw as far as one user can.
    left = {"bread": 10, "soup": 10}
    pair = Pair("one more user of soup", left, {**left, "soup": 11})
    return ledger_subject("ledger", folder, total, ask, [pair])
