"""An account: reserve the ceiling, run, settle what was really used.

    reserve   one transaction, before data is touched: does the ceiling fit account, period and data set?
    run       the mechanism draws. Whatever goes wrong from here on, the reservation stays.
    settle    one transaction: the true cost replaces the ceiling, and the release is stored with it.

A question that ends without an answer is forfeited, and is one of the few failures that the owner allows.

A release is therefore either delivered and charged, or charged and lost; it is never delivered twice with
different noise. The same question on the same declared version of the data returns the stored release, byte for
byte, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import (
    BudgetRefusedError,
    ChargedFailureError,
    FrozenError,
    InvalidArgumentError,
    LedgerError,
    UncertainError,
    UnlistedError,
)
from unlisted.ledger import records
from unlisted.ledger.amounts import Amount
from unlisted.ledger.booking import Booking, Value
from unlisted.ledger.changes import Change
from unlisted.ledger.ending import forfeit, forfeit_abandoned, has_room, settle
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger, require_name
from unlisted.ledger.owners import give_up, is_gone, new_owner
from unlisted.ledger.periods import period_of
from unlisted.ledger.schema import questions
from unlisted.ledger.sources import require_own_source
from unlisted.ledger.state import AccountState, DatasetState, Held
from unlisted.ledger.terms import Terms
from unlisted.ledger.words import frozen, refusal, was_charged
from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Bill, Deliver, Paid

_MINE = sa.select(questions).where(questions.c.account == sa.bindparam("account"))
_BY_KEY = _MINE.where(questions.c.idempotency_key == sa.bindparam("key"))
_SAME = _MINE.where(
    questions.c.question == sa.bindparam("question"), questions.c.version == sa.bindparam("version")
)


@dataclass(frozen=True)
class Account:
    """Someone who may spend on a data set."""

    ledger: Ledger
    name: str
    dataset: str
    terms: Terms

    @property
    def result_epsilon(self) -> Fraction | None:
        """The ε of one result, if the account was opened with one."""
        return None if self.terms.result_epsilon is None else Fraction(self.terms.result_epsilon)

    @property
    def question_delta(self) -> Fraction | None:
        """The δ of one question, if the account was opened with one."""
        return None if self.terms.question_delta is None else Fraction(self.terms.question_delta)

    def balance(self) -> Balance:
        """Return where the account stands."""
        with self.ledger.store.reading() as connection:
            dataset = records.read_dataset(connection, self.dataset)
            found = records.read_account(connection, self.name)
        if dataset is None or found is None:
            raise LedgerError(f"The account {self.name!r} is not in the ledger any more.")
        return Balance(found[1], dataset, self.ledger.now(dataset.last_time))

    def has_answered(self, bill: Bill, idempotency_key: str | None = None) -> bool:
        """Return whether the store holds the answer, by its key or as the same question on the same version."""
        with self.ledger.store.reading() as connection:
            dataset = records.read_dataset(connection, self.dataset)
            version = None if dataset is None else dataset.version
            asked = {"question": bill.question, "version": version, "key": idempotency_key, "account": self.name}
            rows = [
                *(connection.execute(_BY_KEY, asked).all() if idempotency_key is not None else ()),
                *(connection.execute(_SAME, asked).all() if version is not None else ()),
            ]
        return any(row.state == "settled" for row in rows)

    def pay(self, bill: Bill, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        """Answer a question: from the store if it was answered before, else by reserving, running, settling."""
        if idempotency_key is not None:
            require_name("idempotency_key", idempotency_key)
        owner, concerns = new_owner(), self._concerns(bill, idempotency_key)
        try:
            begun = self._begun(concerns, lambda change: self._begin(change, bill, idempotency_key, owner))
        except BaseException as failure:
            if isinstance(failure, UncertainError) or not isinstance(failure, UnlistedError):
                # If it was reserved after all, whoever asks next may forfeit it.
                give_up(owner)
            if isinstance(failure, KeyboardInterrupt):
                failure.add_note(f"Whether the account {self.name!r} was charged, its history says.")
            raise
        if isinstance(begun, Paid):
            return begun
        if isinstance(begun, BudgetRefusedError):
            raise begun
        drawn = False
        self.ledger.running.begin(self.dataset, begun.number, self.name)
        try:
            release, used = deliver()
            drawn = True
            return self._settle(begun, concerns, release, used)
        except BaseException as failure:
            self._forfeit(begun.number, concerns, owner)
            if isinstance(failure, KeyboardInterrupt):
                # What was drawn may have been settled just before.
                failure.add_note(was_charged(self.name, begun.held.amount, at_most=drawn))
            raise
        finally:
            self.ledger.running.end(self.dataset, begun.number)

    def _book(self, concerns: frozenset[Hashable], step: Callable[[Change], Value]) -> Value:
        return self.ledger.book(Booking(self.dataset, self.name, concerns, step))

    def _begun(self, concerns: frozenset[Hashable], step: Callable[[Change], _Outcome | None]) -> _Outcome:
        """Begin; if processes died over questions that could be failures too many, these are forfeited first."""
        for _ in range(_LOOKS):
            outcome = self._book(concerns, step)
            if outcome is not None:
                return outcome
            forfeit_abandoned(self.ledger, self.dataset)
        raise LedgerError("Too many processes die over this data set. Ask again; nothing was charged.")

    def _concerns(self, bill: Bill, key: str | None) -> frozenset[Hashable]:
        """Name what another request could ask as well: such two are never booked in one transaction."""
        asked = {("question", self.name, bill.question)}
        return frozenset(asked if key is None else {*asked, ("key", self.name, key)})

    def _begin(self, change: Change, bill: Bill, key: str | None, owner: str) -> _Outcome | None:
        # Also of a repeat: an answer about other data is no answer.
        _require_same(change.state.dataset, bill)
        earlier = self._earlier(change, bill, key)
        if earlier is not None:
            return earlier
        dataset = change.state.dataset
        if dataset.source is None:
            require_own_source(change.connection, self.dataset, bill.source, shares=dataset.shares_source)
        try:
            number = self._reserve(change, bill, key, owner)
        except BudgetRefusedError as refused:
            # Handed on and not raised: what was forfeited on the way stays in the book.
            return refused
        return None if number is None else _Begun(number, change.state.held[number])

    def _earlier(self, change: Change, bill: Bill, key: str | None) -> Paid | None:
        """Find the answer to a retried or repeated question; refuse one that is being answered right now."""
        if key is not None:
            found = change.connection.execute(_BY_KEY, {"account": self.name, "key": key}).one_or_none()
            if found is not None:
                return self._retried(change.connection, found, bill)
        version = change.state.dataset.version
        if version is None:
            return None
        same = {"account": self.name, "question": bill.question, "version": version}
        rows = change.connection.execute(_SAME, same).all()
        for row in rows:
            if row.state == "settled":
                return self._stored(change.connection, row)
            if row.state == "open" and not is_gone(row.owner):
                raise LedgerError("The same question is being answered right now. Ask again; nothing was charged.")
            if row.state == "open":
                # Whoever held it can now not settle any more: one question never gets two answers.
                forfeit(change, row.reservation)
        return None

    def _retried(self, connection: Connection, row: Any, bill: Bill) -> Paid:
        if row.question != bill.question:
            raise InvalidArgumentError("idempotency_key", row.idempotency_key, "used for one question only")
        if row.state == "settled":
            return self._stored(connection, row)
        if row.state == "open" and not is_gone(row.owner):
            raise LedgerError("The question is being answered right now. Ask again; nothing more was charged.")
        raise ChargedFailureError

    def _stored(self, connection: Connection, row: Any) -> Paid:
        digest = records.read_hash(connection, self.dataset, row.entry)
        return Paid(row.release, self.dataset, self.name, row.entry, digest or "")

    def _reserve(self, change: Change, bill: Bill, key: str | None, owner: str) -> int | None:
        state, dataset = change.account(self.name), change.state.dataset
        if state.closed:
            raise BudgetRefusedError(f"The account {self.name!r} is closed. Nothing was charged.")
        amount = Amount.charge(bill.ceiling)
        balance = Balance(state, dataset, change.now(dataset.last_time))
        if change.state.is_frozen(self.name):
            raise FrozenError(frozen(balance))
        if not has_room(change, self.name, self.ledger.running):
            return None
        if not amount.fits(balance.left):
            raise BudgetRefusedError(refusal(bill.ceiling, balance, bill.result, bill.result_epsilon))
        body = {
            "unit": bill.unit,
            "adjacency": bill.adjacency,
            "source": bill.source,
            "question": bill.question,
            "key_sha256": records.key_digest(key),
        }
        entry = change.append("reserved", account=self.name, amount=amount, body=body)
        rho, delta = amount.texts
        question = records.asked_question(
            dataset=self.dataset,
            reservation=entry.number,
            account=self.name,
            question=bill.question,
            version=dataset.version,
            idempotency_key=key,
            period_name=change.account(self.name).period_name,
            rho=rho,
            delta=delta,
            owner=owner,
        )
        change.questions.append(question)
        return entry.number

    def _settle(self, begun: _Begun, concerns: frozenset[Hashable], release: bytes, used: Guarantee) -> Paid:
        amount = Amount.charge(used)
        try:
            # If somebody found the reservation abandoned and forfeited it meanwhile, the writing fails: it changes
            # open questions only.
            entry = self._book(concerns, lambda change: self._settled(change, begun, amount, release))
        except LedgerError:
            # The answer was drawn and cannot be stored: it is charged and lost.
            raise ChargedFailureError from None
        if entry is None:
            # Others failed meanwhile, and whether this one did too is not to be told.
            raise ChargedFailureError
        return Paid(release, self.dataset, self.name, entry.number, entry.hash)

    def _forfeit(self, number: int, concerns: frozenset[Hashable], owner: str) -> None:
        """Say that a reservation stays spent. If that cannot be written it stays reserved, which is the same."""
        try:
            # Processes that died failed before this question did: in this order they are counted.
            forfeit_abandoned(self.ledger, self.dataset)
            self._book(concerns, lambda change: self._forfeited(change, number))
        except BaseException as failure:
            # Else the same question would count as being answered for as long as this process lives.
            give_up(owner)
            if not isinstance(failure, LedgerError):
                raise

    def _settled(self, change: Change, begun: _Begun, amount: Amount, release: bytes) -> Entry | None:
        self.ledger.running.end(self.dataset, begun.number)
        return settle(change, begun.number, begun.held, amount, release)

    def _forfeited(self, change: Change, number: int) -> None:
        self.ledger.running.end(self.dataset, number)
        forfeit(change, number)


@dataclass(frozen=True)
class _Begun:
    """A question whose ceiling is reserved, and that is being answered."""

    number: int
    held: Held


_Outcome = Paid | _Begun | BudgetRefusedError
_LOOKS = 3


@dataclass(frozen=True)
class Balance:
    """Where an account stands at a moment: its own share, its period's, and the data set's."""

    account: AccountState
    dataset: DatasetState
    time: str

    @property
    def period_name(self) -> str | None:
        """The name of the present period."""
        period = self.account.terms.period
        return None if period is None else period_of(period, datetime.fromisoformat(self.time))

    @property
    def left_in_period(self) -> Amount | None:
        """What the present period still allows."""
        return self.account.left_in_period(self.period_name)

    @property
    def left_for_life(self) -> Amount:
        """What all later questions together may cost, over all periods: the least of account and data set."""
        return self.account.left.least(self.dataset.left)

    @property
    def left(self) -> Amount:
        """What a next question may cost: the least of account, period and data set."""
        in_period = self.left_in_period
        return self.left_for_life if in_period is None else self.left_for_life.least(in_period)


def _require_same(dataset: DatasetState, bill: Bill) -> None:
    """Refuse a question that is about other users, other neighbours or another source than the data set's."""
    for argument, fixed, asked in (
        ("user", dataset.unit, bill.unit),
        ("adjacency", dataset.adjacency, bill.adjacency),
        ("source", dataset.source, bill.source),
    ):
        if fixed is not None and fixed != asked:
            raise InvalidArgumentError(
                argument, asked, f"{fixed!r}, which the data set {dataset.name!r} is about", "Nothing was charged."
            )
