"""What a transaction does to one data set: its chain grows, and the cached state moves with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from unlisted.ledger import records
from unlisted.ledger.amounts import NOTHING, Amount
from unlisted.ledger.entries import Entry, Kind
from unlisted.ledger.state import AccountState, State
from unlisted.ledger.writes import Write

Now = Callable[[str], str]
"""Returns the time of the next entry, given that of the last: the clock's, but never before the last entry's."""


@dataclass
class Change:
    """A transaction on one data set, before it is written."""

    connection: Connection
    now: Now
    state: State
    entries: list[Entry] = field(default_factory=list)
    questions: list[Write] = field(default_factory=list)

    def account(self, name: str) -> AccountState:
        """Return where an account stands now."""
        return self.state.accounts[name]

    def append(
        self,
        kind: Kind,
        *,
        account: str | None = None,
        reservation: int | None = None,
        amount: Amount = NOTHING,
        body: dict[str, Any] | None = None,
    ) -> Entry:
        """Add an entry at the end of the chain."""
        dataset = self.state.dataset
        entry = Entry(
            dataset=dataset.name,
            number=dataset.last_number + 1,
            kind=kind,
            time=self.now(dataset.last_time),
            account=account,
            reservation=reservation,
            amount=amount,
            body=body or {},
            previous=dataset.last_hash,
        )
        self.state = self.state.after(entry)
        self.entries.append(entry)
        return entry

    @contextmanager
    def step(self) -> Iterator[None]:
        """Take back what was added inside if it fails; what was added before stays."""
        state, entries, questions = self.state, len(self.entries), len(self.questions)
        try:
            yield
        except BaseException:
            self.state = state
            del self.entries[entries:]
            del self.questions[questions:]
            raise

    def rows(self) -> list[Write]:
        """Return what is to be written: the new entries, where all stand after them, and the questions."""
        if not self.entries:
            return []
        dataset = self.state.dataset
        opened = {entry.account for entry in self.entries if entry.kind == "opened"}
        spoken_of = {entry.account: self.state.accounts[entry.account] for entry in self.entries if entry.account}
        rows = [records.written_dataset(dataset, new=None in opened)]
        rows += [records.written_account(dataset.name, one, new=name in opened) for name, one in spoken_of.items()]
        rows += [records.written_entry(entry) for entry in self.entries]
        return rows + self.questions
