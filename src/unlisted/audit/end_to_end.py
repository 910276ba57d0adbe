"""The whole program as a subject: what a user calls, from rows to a release, on an account, and in a stream.

*Rows*: two tables that differ by one user, asked through `ul.table(…)` like any other. Everything a question goes
through is inside: reading, bounding with a fresh secret, counting, lazy tails, noise, order, the columns.

*A ledger*: several questions on one account, each chosen knowing the answers before. Every run opens a data set of
its own in one ledger file, so runs do not share a budget. The claim is the account's total; what a question costs,
what comes back and when one is refused is decided by the ledger.

*A stream* in a folder: created, pushed to and read like any other, a new one for every run.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from unlisted.audit.subject import BOTTOM, Output, Pair, Subject
from unlisted.audit.subjects.interactions import REFUSED
from unlisted.errors import BudgetRefusedError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.terms import ResultsBudget
from unlisted.privacy.accounting import ZCDP
from unlisted.privacy.guarantee import Budget
from unlisted.query.charging import Payer
from unlisted.query.plan import Plan
from unlisted.query.private_counts import counts
from unlisted.query.private_table import PrivateTable, table
from unlisted.release.release import Release
from unlisted.streams.question import EventLevelWarning
from unlisted.streams.stream import Stream

Rows = list[tuple[str, str]]
"""(user, item)."""

ITEMS = ("bread", "rice", "soup")
USERS_EACH = 30
ROWS_OF_ONE = 60


def rows_subject(name: str, ask: Callable[[PrivateTable], Plan], pairs: Iterable[Pair]) -> Subject:
    """Audit a question: `ask` plans it on a table, and the data of the pairs are tables."""
    tried = list(pairs)
    # A plan is a function of the question alone, so it is made once for each table.
    planned = cache(ask)
    claim = planned(tried[0].left).guarantee
    return Subject(name, claim, lambda: tried, lambda source: output_of(planned(source).run(), "item"))


def histogram_of_rows() -> Subject:
    """Return a histogram of rows in the embedded engine, where one user has far more rows than may count."""
    return rows_subject("rows", one_row_each, [busy_user()])


def busy_user() -> Pair:
    """Return two tables: with and without a user who has sixty rows of every item."""
    others = [(f"{item}/{i}", item) for item in ITEMS for i in range(USERS_EACH)]
    busy = [("busy", item) for item in ITEMS for _ in range(ROWS_OF_ONE)]
    return Pair("a user with sixty rows of every item", table_of(others), table_of([*others, *busy]))


def one_row_each(source: PrivateTable) -> Plan:
    """Plan the histogram that is audited: a user counts for one row of one item."""
    budget = Budget(epsilon="0.5", delta="0.01")
    return source.histogram("item", budget=budget, items_per_user=1, count="rows", rows_per_item=1)


def table_of(rows: Rows) -> PrivateTable:
    """Return rows as a table that may be asked."""
    users, items = zip(*rows, strict=True)
    return table(pa.table({"user": users, "item": items}), user="user")


def output_of(release: Release, item: str) -> Output:
    """Return a release as an output: rows of label and count, or a ranking that ends in ⊥ if that was drawn."""
    rows: list[dict[str, Any]] = release.rows
    if all("count" in row for row in rows) and "rank" not in release.to_arrow().column_names:
        return tuple((row[item], row["count"]) for row in rows)
    return (*(row[item] for row in rows), *([] if release.complete else [BOTTOM]))


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


Rounds = Sequence[Mapping[str, int]]


def stream_in_a_folder(folder: Path) -> Subject:
    """Return a stream of three rounds in which an item vanishes, and comes again."""
    first, last = {"soup": 60}, {"soup": 5}
    pair = Pair("one event in the first round", (first, {}, last), ({"soup": 61}, {}, last))
    return stream_subject("stream in a folder", folder, Budget(rho="0.03", delta="0.005"), [pair])


def stream_subject(name: str, folder: Path, budget: Budget, pairs: list[Pair]) -> Subject:
    """Audit everything that a stream ever releases."""
    numbers, rounds = itertools.count(1), len(pairs[0].left)

    def created() -> Stream:
        path = folder / f"stream {next(numbers)}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EventLevelWarning)
            return Stream.create(path, rounds=rounds, unit="event", items_per_event=1, budget=budget)

    def run(data: Rounds) -> Output:
        stream = created()
        shown = (stream.push(one) for one in data)
        return tuple(output_of(release, "item") for release in shown if release is not None)

    return Subject(name, created().guarantee, lambda: pairs, run)
