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

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction

from unlisted.errors import (
    BudgetRefusedError,
    ChargedFailureError,
    FrozenError,
    LedgerError,
    UncertainError,
    UnlistedError,
)
from unlisted.ledger import rows
from unlisted.ledger.amounts import Amount
from unlisted.ledger.declarations import require_name, require_own_source, require_same_subject
from unlisted.ledger.display import frozen, refusal, was_charged
from unlisted.ledger.entries import Entry
from unlisted.ledger.group_commit import Booking, Value
from unlisted.ledger.heartbeat import give_up
from unlisted.ledger.leases import forfeit, has_room, settle
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.policy import require_allowed, require_room_today
from unlisted.ledger.state import DAY, Balance, Held
from unlisted.ledger.store import StoreError
from unlisted.ledger.stored_releases import answered_before, is_stored, settled_as
from unlisted.ledger.terms import Terms
from unlisted.ledger.transaction import Change, asked_question, key_digest
from unlisted.privacy.accounting import Accounting
from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Charge, Deliver, Paid


@dataclass(frozen=True)
class Account:
    """Someone who may spend on a data set. `asked_by` is the key that asks, where a service does."""

    ledger: Ledger
    name: str
    dataset: str
    terms: Terms
    asked_by: str | None = None

    @property
    def accounting(self) -> Accounting:
        """What the account counts: ρ, or μ²."""
        return self.terms.accounting

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
            dataset = rows.read_dataset(connection, self.dataset)
            found = rows.read_account(connection, self.name)
            last = rows.read_last_ceiling(connection, self.dataset, self.name)
        if dataset is None or found is None:
            raise LedgerError(f"The account {self.name!r} is not in the ledger any more.")
        return Balance(found[1], dataset, self.ledger.now(dataset.last_time), last)

    def has_answered(self, charge: Charge, idempotency_key: str | None = None) -> bool:
        """Return whether the store holds the answer, by its key or as the same question on the same version."""
        with self.ledger.store.reading() as connection:
            dataset = rows.read_dataset(connection, self.dataset)
            version = None if dataset is None else dataset.version
            return is_stored(connection, self.name, version, charge, idempotency_key)

    def pay(self, charge: Charge, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        """Answer a question: from the store if it was answered before, else by reserving, running, settling."""
        if idempotency_key is not None:
            require_name("idempotency_key", idempotency_key)
        owner, concerns = self.ledger.running.owner(), self._concerns(charge, idempotency_key)
        try:
            begun = self._begun(concerns, lambda change: self._begin(change, charge, idempotency_key, owner))
        except BaseException as failure:
            if isinstance(failure, UncertainError) or not isinstance(failure, UnlistedError):
                # If it was reserved after all, whoever asks next may forfeit it.
                give_up(owner)
            if isinstance(failure, KeyboardInterrupt):
                failure.add_note(f"Whether the account {self.name!r} was charged, its history says.")
            raise
        if isinstance(begun, Paid):
            return replace(begun, sign=self.ledger.signer)
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
            self.ledger.forfeit_abandoned(self.dataset)
        raise LedgerError(
            "Too many processes died while answering questions about this data set. Ask again; nothing was "
            "charged."
        )

    def _concerns(self, charge: Charge, key: str | None) -> frozenset[Hashable]:
        """Name what another request could ask as well: such two are never booked in one transaction."""
        asked = {("question", self.name, charge.question)}
        return frozenset(asked if key is None else {*asked, ("key", self.name, key)})

    def _begin(self, change: Change, charge: Charge, key: str | None, owner: str) -> _Outcome | None:
        # Also of a repeat: an answer about other data is no answer.
        require_same_subject(change.state.dataset, charge)
        earlier = answered_before(change, self.name, charge, key)
        if earlier is not None:
            return earlier
        dataset = change.state.dataset
        require_allowed(dataset, charge)
        if dataset.source is None:
            require_own_source(change.connection, self.dataset, charge.source, shares=dataset.shares_source)
        try:
            number = self._reserve(change, charge, key, owner)
        except BudgetRefusedError as refused:
            # Handed on and not raised: what was forfeited on the way stays in the book.
            return refused
        return None if number is None else _Begun(number, change.state.held[number], dataset.version)

    def _reserve(self, change: Change, charge: Charge, key: str | None, owner: str) -> int | None:
        state, dataset = change.account(self.name), change.state.dataset
        if state.closed:
            raise BudgetRefusedError(f"The account {self.name!r} is closed. Nothing was charged.")
        amount = Amount.charge(charge.ceiling, self.accounting)
        balance = Balance(state, dataset, change.now(dataset.last_time))
        if change.state.is_frozen(self.name):
            raise FrozenError(frozen(balance))
        require_room_today(dataset, amount, balance.time[:DAY])
        if not has_room(change, self.name, self.ledger.running):
            return None
        if not amount.fits(balance.left):
            result = None if charge.result is None else Amount.charge(charge.result, self.accounting)
            raise BudgetRefusedError(refusal(amount, balance, result, charge.result_epsilon))
        body = {
            "unit": charge.unit,
            "adjacency": charge.adjacency,
            "source": charge.source,
            "question": charge.question,
            "key_sha256": key_digest(key),
            **({"asked": charge.words} if charge.words else {}),
            **({} if self.asked_by is None else {"by": self.asked_by}),
        }
        entry = change.append("reserved", account=self.name, amount=amount, body=body)
        loss, delta = amount.texts
        question = asked_question(
            dataset=self.dataset,
            reservation=entry.number,
            account=self.name,
            question=charge.question,
            version=dataset.version,
            idempotency_key=key,
            period_name=change.account(self.name).period_name,
            rho=loss,
            delta=delta,
            owner=owner,
        )
        change.questions.append(question)
        return entry.number

    def _settle(self, begun: _Begun, concerns: frozenset[Hashable], release: bytes, used: Guarantee) -> Paid:
        amount = Amount.charge(used, self.accounting)
        # An answer is worth some patience with a store that went away for a moment.
        for seconds in (*_BETWEEN_SETTLINGS, None):
            try:
                # If somebody found the reservation abandoned and forfeited it meanwhile, the writing fails: it
                # changes open questions only. Also if it was written before, and nobody could say so.
                entry = self._book(concerns, lambda change: self._settled(change, begun, amount, release))
            except LedgerError as failure:
                may_pass = isinstance(failure, StoreError | UncertainError)
                if (paid := self._stored(begun.number)) is not None:
                    return paid
                if may_pass and seconds is not None:
                    time.sleep(seconds)
                    continue
                # The answer was drawn and cannot be stored: it is charged and lost.
                raise ChargedFailureError from None
            if entry is None:
                # Others failed meanwhile, and whether this one did too is not to be told.
                raise ChargedFailureError
            named = (self.dataset, self.name, entry.number, entry.hash)
            return Paid(release, *named, begun.version, amount.as_dict(), self.ledger.signer)
        raise ChargedFailureError

    def _stored(self, number: int) -> Paid | None:
        """Return the answer that a reservation ended with, if it can be found: then it did not fail."""
        try:
            with self.ledger.store.reading() as connection:
                found = settled_as(connection, self.dataset, number)
                return None if found is None else replace(found, sign=self.ledger.signer)
        except LedgerError:
            return None

    def _forfeit(self, number: int, concerns: frozenset[Hashable], owner: str) -> None:
        """Say that a reservation stays spent. If that cannot be written it stays reserved, which is the same."""
        try:
            # Processes that died failed before this question did: in this order they are counted.
            self.ledger.forfeit_abandoned(self.dataset)
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
    version: str | None


_Outcome = Paid | _Begun | BudgetRefusedError
_LOOKS = 3
_BETWEEN_SETTLINGS = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds until the store is asked again to keep an answer."""
