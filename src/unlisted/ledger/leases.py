"""How a reservation ends, and how many may end without an answer.

A process holds it. One whose process is gone (`heartbeat.py`) counts as abandoned; a process that lives on can
give a reservation up itself, and the ledger's owner can end any. Either way it stays spent: forfeiting is
book-keeping.

A question ends once: settled with its answer, or forfeited with its whole ceiling. A forfeit is a failure after
data was touched, and is counted. While failures have frozen an account or its data set, every question ends as a
forfeit, one that was answered too.

Whether a question is answered must not depend on a row. Should an engine ever let one decide it, each failure
tells something without noise, so the number of failures is limited: for an account, and for a data set over all
of its accounts. An allowance that is used up freezes its account or data set until the owner has looked and
thawed it.

**Claim.** Take an account that is allowed `a` failures, between two thaws. What rows can decide about its
questions' ends are at most `a` failures, and one death for each process that still held an open question of it
when it froze: `a + 1` in all for a service that is one process. The same holds for a data set, with its own
number. How many questions are open at once does not enter: honest clients may ask as many in parallel as they
like.

**Proof.** A question ends with one entry, `settled` or `forfeited`, and the entries of a data set are in one
order.

1. *Forfeits while nothing is frozen* are counted (`State.after`). The `a`-th freezes the account, so there are
   `a`.
2. *While it is frozen* no question begins (`Account._reserve`), and one that was open before is forfeited when
   it ends, whatever the engine came to (`settle`). How it ends is fixed by the order of the entries.
3. *Questions without an end* are those of processes that died, each death once for all its questions. They stay
   open in the ledger. Before a failure is counted, and before a question begins where they could matter, those
   of dead processes are forfeited, which is counted by 1. Of other places nobody can tell at once who died: a
   question begins only while the failures counted and the questions open elsewhere are together fewer than `a`
   (`has_room`). So the deaths that are not counted came after the last failure that was, of processes
   that held a question then. ∎

**How much that tells.** If at most `f` of N questions fail there are Σ C(N, i) patterns, i from 0 to `f`, and
no more than the binary logarithm of that in bits: `most_bits`. It grows with log N: somebody who may ask very
many very cheap questions learns more from one failure than one bit.

Every forfeit counts, also one that somebody brought about by Ctrl-C, by leaving, by a time limit or by stopping
the service: how long a question takes, and so whether it was still running then, a row can decide.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from math import comb, log2

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.heartbeat import Running, described, is_elsewhere, is_gone
from unlisted.ledger.rows import read_held
from unlisted.ledger.schema import questions
from unlisted.ledger.state import ACCOUNT_FAILURES, DATASET_FAILURES, Failures, Held
from unlisted.ledger.transaction import Change, ended_question

_MOST_FAILURES = 1_000_000
_OPEN = sa.select(questions.c.dataset, questions.c.account, questions.c.reservation, questions.c.owner).where(
    questions.c.state == "open"
)
_OPEN_OF_ONE = _OPEN.where(questions.c.dataset == sa.bindparam("dataset"))


@dataclass(frozen=True)
class OpenReservation:
    """A reservation that has not ended, who holds it, and whether that process is gone."""

    dataset: str
    account: str
    number: int
    held_by: str
    is_gone: bool


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
    change.questions.append(ended_question(entry.dataset, number, state="settled", **answer))
    return entry


def forfeit(change: Change, number: int) -> None:
    """End an open reservation with all of its ceiling spent; one that ended before stays as it is."""
    held = read_held(change.connection, change.state.dataset.name, number)
    if held is not None:
        _forfeit(change, number, held)


def abandoned(connection: Connection, dataset: str | None = None) -> list[tuple[str, str, int]]:
    """Return the data set, account and number of each reservation whose process is gone."""
    query = _OPEN if dataset is None else _OPEN.where(questions.c.dataset == dataset)
    still_open = connection.execute(query).all()
    return [(row.dataset, row.account, row.reservation) for row in still_open if is_gone(connection, row.owner)]


def open_reservations(connection: Connection, dataset: str | None = None) -> list[OpenReservation]:
    """Return every reservation that has not ended, with whoever holds it."""
    query = _OPEN if dataset is None else _OPEN.where(questions.c.dataset == dataset)
    found = connection.execute(query.order_by(questions.c.dataset, questions.c.reservation)).all()
    return [
        OpenReservation(
            row.dataset,
            row.account,
            row.reservation,
            described(connection, row.owner),
            is_gone(connection, row.owner),
        )
        for row in found
    ]


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
    if any(is_gone(change.connection, row.owner) for row in rows):
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
    change.questions.append(ended_question(entry.dataset, number, state="forfeited"))


def for_dataset(failures: int | None) -> int:
    """Read what a data set is allowed. Two at least, so that an account can be allowed fewer."""
    return DATASET_FAILURES if failures is None else _number(failures, 2)


def for_account(failures: int | None, dataset: Failures) -> int:
    """Read what an account is allowed: fewer than its data set, or one analyst could lock out the others."""
    if failures is None:
        return min(ACCOUNT_FAILURES, dataset.allowed - 1)
    if _number(failures, 1) >= dataset.allowed:
        hint = (
            "Otherwise one account could freeze the others. `unlisted dataset failures` allows the data set more."
        )
        raise InvalidArgumentError(
            "failures", failures, f"fewer than the {dataset.allowed:,} of the data set", hint
        )
    return failures


def most_bits(questions: int, failures: int) -> float:
    """Return how many bits the pattern of answers and failures can tell at most."""
    return log2(sum(comb(questions, failed) for failed in range(min(questions, failures) + 1)))


def _number(failures: object, least: int) -> int:
    if not isinstance(failures, int) or isinstance(failures, bool) or not least <= failures <= _MOST_FAILURES:
        raise InvalidArgumentError("failures", failures, f"a whole number from {least} to {_MOST_FAILURES:,}")
    return failures
