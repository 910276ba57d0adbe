"""Who holds a reservation, how it ends, and how many may end without an answer.

A process holds it, named so that another one can tell that it is gone. On the same machine a process is gone if no
process has its number and start. Of other machines nothing can be told, so a reservation of theirs counts as
abandoned only after a day. A process that lives on can give a reservation up itself. Either way it stays spent:
forfeiting is book-keeping.

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
   of dead processes are forfeited, which is counted by 1. Of other machines nobody can tell who died: a
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
import os
import socket
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count
from math import comb, log2
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError, LedgerError
from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.rows import read_held
from unlisted.ledger.schema import questions
from unlisted.ledger.state import ACCOUNT_FAILURES, DATASET_FAILURES, Failures, Held
from unlisted.ledger.transaction import Change, ended_question

_LEASE = timedelta(days=1)
_PLACES = count()
_GIVEN_UP: set[str] = set()
_MOST_FAILURES = 1_000_000
_OPEN = sa.select(questions.c.dataset, questions.c.account, questions.c.reservation, questions.c.owner).where(
    questions.c.state == "open"
)
_OPEN_OF_ONE = _OPEN.where(questions.c.dataset == sa.bindparam("dataset"))


def new_owner() -> str:
    """Return the name of this process, the time of the lease, and a number that no other lease of it has."""
    process = os.getpid()
    since = datetime.now(UTC).isoformat()
    return f"{socket.gethostname()}|{process}|{_started(process)}|{since}|{next(_PLACES)}"


def give_up(owner: str) -> None:
    """Remember that this process will not settle a reservation, where the ledger cannot be told."""
    _GIVEN_UP.add(owner)


def is_gone(owner: str) -> bool:
    """Return whether the process that holds a reservation cannot settle it any more."""
    if owner in _GIVEN_UP:
        return True
    host, process, started, since = owner.split("|")[:4]
    if datetime.now(UTC) - datetime.fromisoformat(since) > _LEASE:
        return True
    return host == socket.gethostname() and _started(int(process)) != started


def is_elsewhere(owner: str) -> bool:
    """Return whether another machine holds a reservation, so that nobody here can tell how it is doing."""
    return owner.partition("|")[0] != socket.gethostname()


class Running:
    """The reservations that this process works on right now, so that nobody need ask the store who holds them.

    None is in here that is not open: it is put in after its entry was kept, and taken out before its end is. An
    old one is left out, for at the end of its lease others may forfeit it. A forked child works on none.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._held: dict[tuple[str, int], tuple[str, float]] = {}

    def begin(self, dataset: str, number: int, account: str) -> None:
        """Say that this process answers a question from now on."""
        if self._process != os.getpid():
            self._process, self._held = os.getpid(), {}
        self._held[dataset, number] = (account, time.monotonic())

    def end(self, dataset: str, number: int) -> None:
        """Say that it does not any more."""
        self._held.pop((dataset, number), None)

    def count(self, dataset: str, account: str | None = None) -> int:
        """Return how many questions about a data set it answers, or of one account."""
        if self._process != os.getpid():
            return 0
        oldest = time.monotonic() - _LEASE.total_seconds() / 2
        held = list(self._held.items())
        return sum(
            whose == dataset and account in (None, name) and since > oldest for (whose, _), (name, since) in held
        )


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
    return [(row.dataset, row.account, row.reservation) for row in still_open if is_gone(row.owner)]


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
    change.questions.append(ended_question(entry.dataset, number, state="forfeited"))


def for_dataset(failures: int | None) -> int:
    """Read what a data set is allowed. Two at least, so that an account can be allowed fewer."""
    return DATASET_FAILURES if failures is None else _number(failures, 2)


def for_account(failures: int | None, dataset: Failures) -> int:
    """Read what an account is allowed: fewer than its data set, or one analyst could lock out the others."""
    if failures is None:
        return min(ACCOUNT_FAILURES, dataset.allowed - 1)
    if _number(failures, 1) >= dataset.allowed:
        hint = "Else one account could freeze the others. `unlisted dataset failures` allows the data set more."
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


def _started(process: int) -> str:
    """Return when a process started, as the system counts it; empty if there is none."""
    if process == os.getpid():
        return _own_start(process)
    return _read_start(process)


@lru_cache(maxsize=4)
def _own_start(process: int) -> str:
    return _read_start(process)


def _read_start(process: int) -> str:
    stat = Path(f"/proc/{process}/stat")
    if stat.parent.parent.joinpath("self").exists():
        try:
            # The name, in brackets, may hold spaces; the start time is the 20th field after it.
            return stat.read_text().rpartition(")")[2].split()[19]
        except OSError:
            return ""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "running"
    return "running"
