"""Failures are a budget too: how many questions may fail after data was touched, and when that freezes.

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
   it ends, whatever the engine came to (`ending.settle`). How it ends is fixed by the order of the entries.
3. *Questions without an end* are those of processes that died, each death once for all its questions. They stay
   open in the ledger. Before a failure is counted, and before a question begins where they could matter, those
   of dead processes are forfeited, which is counted by 1. Of other machines nobody can tell who died: a
   question begins only while the failures counted and the questions open elsewhere are together fewer than `a`
   (`ending.has_room`). So the deaths that are not counted came after the last failure that was, of processes
   that held a question then. ∎

**How much that tells.** If at most `f` of N questions fail there are Σ C(N, i) patterns, i from 0 to `f`, and
no more than the binary logarithm of that in bits: `most_bits`. It grows with log N: somebody who may ask very
many very cheap questions learns more from one failure than one bit.

Every forfeit counts, also one that somebody brought about by Ctrl-C, by leaving, by a time limit or by stopping
the service: how long a question takes, and so whether it was still running then, a row can decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, log2

from unlisted.errors import InvalidArgumentError

ACCOUNT_FAILURES, DATASET_FAILURES = 3, 20
"""What is allowed unless the owner says otherwise. A ledger from before this was counted says nothing and is read
with these, so they can never be others."""

_MOST = 1_000_000


@dataclass(frozen=True)
class Failures:
    """How many may fail, how many were counted since the last thaw, and how many questions are open."""

    allowed: int
    seen: int = 0
    open: int = 0

    @property
    def frozen(self) -> bool:
        """Whether the allowance is used up."""
        return self.seen >= self.allowed

    @property
    def left(self) -> int:
        """How many more may fail."""
        return max(0, self.allowed - self.seen)


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
    if not isinstance(failures, int) or isinstance(failures, bool) or not least <= failures <= _MOST:
        raise InvalidArgumentError("failures", failures, f"a whole number from {least} to {_MOST:,}")
    return failures
