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
from unlisted.ledger.leases import forfeit, give_up, has_room, new_owner, settle
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import Balance, Held
from unlisted.ledger.stored_releases import answered_before, is_stored
from unlisted.ledger.terms import Terms
from unlisted.ledger.transaction import Change, asked_question, key_digest
from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Bill, Deliver, Paid


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
            dataset = rows.read_dataset(connection, self.dataset)
            found = rows.read_account(connection, self.name)
        if dataset is None or found is None:
            raise LedgerError(f"The account {self.name!r} is not in the ledger any more.")
        return Balance(found[1], dataset, self.ledger.now(dataset.last_time))

    def has_answered(self, bill: Bill, idempotency_key: str | None = None) -> bool:
        """Return whether the store holds the answer, by its key or as the same question on the same version."""
        with self.ledger.store.reading() as connection:
            dataset = rows.read_dataset(connection, self.dataset)
            version = None if dataset is None else dataset.version
            return is_stored(connection, self.name, version, bill, idempotency_key)

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
            self.ledger.forfeit_abandoned(self.dataset)
        raise LedgerError("Too many processes die over this data set. Ask again; nothing was charged.")

    def _concerns(self, bill: Bill, key: str | None) -> frozenset[Hashable]:
        """Name what another request could ask as well: such two are never booked in one transaction."""
        asked = {("question", self.name, bill.question)}
        return frozenset(asked if key is None else {*asked, ("key", self.name, key)})

    def _begin(self, change: Change, bill: Bill, key: str | None, owner: str) -> _Outcome | None:
        # Also of a repeat: an answer about other data is no answer.
        require_same_subject(change.state.dataset, bill)
        earlier = answered_before(change, self.name, bill, key)
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
            "key_sha256": key_digest(key),
        }
        entry = change.append("reserved", account=self.name, amount=amount, body=body)
        rho, delta = amount.texts
        question = asked_question(
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


_Outcome = Paid | _Begun | BudgetRefusedError
_LOOKS = 3
