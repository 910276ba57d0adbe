"""Where a plan gets its counts, from all rows or, before anything is charged, from none.

A rehearsal is a question answered from no rows. It ends the same way as long as question, schema and installed
packages stay the same, and a process keeps its packages: one that went well need not be done again. Where nobody
can tell whether the schema did, in a database say, there is no name, and every question is rehearsed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import NoReturn

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidCountsError
from unlisted.mechanisms.mechanism import CountSource

MOST_REMEMBERED = 4096


@dataclass(frozen=True)
class Data:
    """Where a plan will get its counts: whose, the item columns, and two steps that are kept apart.

    `user` is the column that says whose row it is, None for counts that were made elsewhere. `source` is what the
    rows are called in a ledger. `check` looks at the schema and may refuse, at no cost; `counts` touches data, so
    whatever fails in it is charged. `types` is what text columns were declared to hold: other types, other labels.
    `is_typed` is false where the type of the labels is only known from the labels. `rehearsal` is the same without
    rows; None where there is nothing to rehearse here, because it is without rows itself or a service has them.
    """

    user: str | None
    source: str
    items: tuple[str, ...]
    check: Callable[[], None]
    counts: CountSource
    rehearsal: Rehearsal | None
    types: Mapping[str, str] = field(default_factory=dict)
    is_typed: bool = True


@dataclass(frozen=True)
class Rehearsal:
    """How a question can be answered from no rows before it is answered from all.

    `data` looks at the schema anew, may refuse like `Data.check`, and returns the same data without rows.
    `signature` is what else decides how that ends; None if nobody can tell.
    """

    signature: Callable[[], Hashable | None]
    data: Callable[[], Data]


class Rehearsed:
    """Names of what went well, the oldest of which are forgotten when there are too many."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._names: dict[Hashable, None] = {}
        self._lock = Lock()

    def __contains__(self, name: Hashable) -> bool:
        return name in self._names

    def add(self, name: Hashable) -> None:
        """Remember a rehearsal that went well."""
        with self._lock:
            self._names[name] = None
            while len(self._names) > self._most:
                del self._names[next(iter(self._names))]


REHEARSED = Rehearsed()
"""What this process has rehearsed."""


@dataclass(frozen=True)
class GivenCounts:
    """Counts that are here already, for whatever a mechanism needs of them. It is a `CountSource`."""

    counts: BoundedCounts

    def all_counts(self, cut: int) -> AbstractContextManager[BoundedCounts | CountProfile]:  # noqa: ARG002
        """Return the counts."""
        return nullcontext(self.counts)

    def largest_counts(self, fetched: int) -> AbstractContextManager[BoundedCounts]:  # noqa: ARG002
        """Return the counts; what reads them cuts them, and refuses what was cut otherwise."""
        return nullcontext(self.counts)

    def weights(self) -> NoReturn:
        """Refuse: labels are weighed by what each user has, which counts no longer tell."""
        raise InvalidCountsError("Counts cannot be weighed: they no longer say which items each user had.")

    def user_count(self) -> NoReturn:
        """Refuse: one user may stand behind several counts."""
        raise InvalidCountsError("Counts do not say how many users there are: one user may be in several of them.")

    def distinct_values(self) -> AbstractContextManager[BoundedTotal]:
        """Return how many labels were declared."""
        items = self.counts.sensitivity.require_items("The number of different values")
        return nullcontext(BoundedTotal(len(self.counts), items))
