"""How a question ends: settled with its answer, or forfeited with its whole ceiling. Each ends once.

A forfeit is a failure after data was touched, and is counted: `allowances.py` has the proof of what that bounds.
While failures have frozen an account or its data set, every question ends as a forfeit, one that was answered too.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import sqlalchemy as sa

from unlisted.errors import LedgerError
from unlisted.ledger import records
from unlisted.ledger.allowances import Failures
from unlisted.ledger.amounts import Amount
from unlisted.ledger.changes import Change
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.owners import Running, is_elsewhere, is_gone
from unlisted.ledger.schema import questions
from unlisted.ledger.state import Held

_OPEN = sa.select(questions.c.dataset, questions.c.account, questions.c.reservation, questions.c.owner).where(
    questions.c.state == "open"
)
_OPEN_OF_ONE = _OPEN.where(questions.c.dataset == sa.bindparam("dataset"))


def settle(change: Change, number: int, held: Held, amount: Amount, release: bytes) -> Entry | None:
    """End a reservation with its release, at its true cost; None if it is forfeited because all is frozen."""
    if not amount.fits(held.amount):
        raise LedgerError("More was used than was reserved.")
    if change.state.is_frozen(held.account):
        _forfeit(change, number, held)
        return None
    change.state = replace(change.state, held={number: held})
    # With its digest in the chain, a stored answer that somebody changes is found too.
    body = {"release_sha256": hashlib.sha256(release).hexdigest()}
    entry = change.append("settled", account=held.account, reservation=number, amount=amount, body=body)
    answer = {"release": release, "entry": entry.number}
    change.questions.append(records.ended_question(entry.dataset, number, state="settled", **answer))
    return entry


def forfeit(change: Change, number: int) -> None:
    """End an open reservation with all of its ceiling spent; one that ended before stays as it is."""
    held = records.read_held(change.connection, change.state.dataset.name, number)
    if held is not None:
        _forfeit(change, number, held)


def abandoned_reservations(ledger: Ledger, dataset: str | None = None) -> list[tuple[str, str, int]]:
    """Return the data set, account and number of each reservation whose process is gone."""
    query = _OPEN if dataset is None else _OPEN.where(questions.c.dataset == dataset)
    with ledger.store.reading() as connection:
        still_open = connection.execute(query).all()
    return [(row.dataset, row.account, row.reservation) for row in still_open if is_gone(row.owner)]


def forfeit_abandoned(ledger: Ledger, dataset: str | None = None) -> int:
    """Forfeit the reservations whose process is gone; return how many there were. Nothing is refunded."""
    gone = abandoned_reservations(ledger, dataset)
    for whose, account, reservation in gone:
        with ledger.changing(whose, account) as change:
            forfeit(change, reservation)
    return len(gone)


def has_room(change: Change, account: str, running: Running) -> bool:
    """Return whether a question may begin; False if reservations of dead processes must be forfeited first.

    Open questions on which nobody is known to work may all have failed already, unseen by the ledger. Together
    with the failures that were counted they must be fewer than what is allowed: else the question is refused. The
    store is asked about them only where there are so many that this process does not answer itself.
    """
    limits = {account: change.account(account).failures, None: change.state.dataset.failures}
    if all(
        one.seen + one.open - _answered_here(change, whose, running) < one.allowed for whose, one in limits.items()
    ):
        return True
    rows = change.connection.execute(_OPEN_OF_ONE, {"dataset": change.state.dataset.name}).all()
    # A reservation that this very transaction ends is open for those who look at the store.
    ended = {entry.reservation for entry in change.entries}
    rows = [row for row in rows if row.reservation not in ended]
    if any(is_gone(row.owner) for row in rows):
        return False
    for whose, failures in limits.items():
        untold = sum(is_elsewhere(row.owner) for row in rows if whose in (None, row.account))
        _require_fewer(failures, untold, change.state.dataset.name if whose is None else whose)
    return True


def _answered_here(change: Change, account: str | None, running: Running) -> int:
    """Return how many open questions this process answers: begun before, and in this very transaction."""
    begun = sum(entry.kind == "reserved" and account in (None, entry.account) for entry in change.entries)
    return begun + running.count(change.state.dataset.name, account)


def _require_fewer(failures: Failures, untold: int, name: str) -> None:
    if untold and failures.seen + untold >= failures.allowed:
        raise LedgerError(
            f"Other machines are answering {untold:,} questions for {name!r}, and only {failures.left:,} may "
            "still fail. Ask again when some of them have ended; nothing was charged."
        )


def _forfeit(change: Change, number: int, held: Held) -> None:
    change.state = replace(change.state, held={number: held})
    body = {"failure": change.state.next_failure(held.account)}
    entry = change.append("forfeited", account=held.account, reservation=number, amount=held.amount, body=body)
    change.questions.append(records.ended_question(entry.dataset, number, state="forfeited"))
