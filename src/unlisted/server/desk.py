"""What a caller may do. The API and the console both stand behind this desk, and nothing is decided elsewhere.

A caller sees the data sets it has a grant for, and asks about them at the cost of the account that the grant
names. What it may not see looks like what is not there. An admin sees every data set and every account, and asks
only where it has a grant like anybody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from unlisted.errors import AccessError, InvalidArgumentError, LedgerError, UnlistedError
from unlisted.ledger.account import Account
from unlisted.ledger.amounts import Amount
from unlisted.ledger.declarations import sharing
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import Balance, DatasetState
from unlisted.ledger.stored_releases import StoredRelease, stored_release, stored_releases
from unlisted.query.plan import Plan
from unlisted.release.release import Release
from unlisted.server.config import Config, Offer, StreamOffer
from unlisted.server.keys import Caller, KeyRing
from unlisted.server.lockout import Lockout
from unlisted.server.memory import Memory
from unlisted.server.opening import offered_columns, open_table
from unlisted.server.questions import Asked, Planned, check, plan_of
from unlisted.server.workers import source_refused
from unlisted.streams.stream import Stream
from unlisted.tables.column_types import ColumnType

REMEMBERED_SECONDS = 1.0
"""For so long a key that was accepted, and the version of a data set, are not looked up again: a revoked key is
refused, and a new version seen, that much later."""

_MOST_REMEMBERED = 4096


@dataclass(frozen=True)
class DatasetView:
    """A data set as a caller sees it: columns and what they hold, never a value."""

    name: str
    description: str
    user: str
    items: Mapping[str, ColumnType]
    filters: Mapping[str, ColumnType]
    items_per_user: int | None
    rows_per_item: int | None
    adjacency: str
    version: str | None
    account: str | None
    result_epsilon: str | None = None
    question_delta: str | None = None


@dataclass(frozen=True)
class PastRelease:
    """An answer that was paid for, with what it cost."""

    release: Release
    entry: int
    account: str
    time: datetime
    cost: Amount


class Desk:
    """One service's rules, over its ledger and its tables."""

    def __init__(self, config: Config, ledger: Ledger) -> None:
        self.config = config
        self.ledger = ledger
        self.keys = KeyRing(ledger)
        self._lockout = Lockout()
        self._tables = {name: open_table(offer) for name, offer in config.datasets.items()}
        self._callers: Memory[str, Caller] = Memory(_MOST_REMEMBERED, REMEMBERED_SECONDS)
        self._versions: Memory[str, tuple[str | None]] = Memory(_MOST_REMEMBERED, REMEMBERED_SECONDS)
        self._planned: Memory[tuple[str, str, Asked], Planned] = Memory(_MOST_REMEMBERED)
        self._accounts: Memory[str, Account] = Memory(_MOST_REMEMBERED)

    # Who it is.

    def remembered(self, key: str) -> Caller | None:
        """Return who a key belongs to, if it was looked up a moment ago. Never waits."""
        return self._callers.get(key)

    def enter(self, key: str, address: str) -> Caller:
        """Return who a key belongs to. Wrong keys are answered slower and slower; a right one never waits."""
        known = self.remembered(key)
        if known is not None:
            return known
        caller = self.keys.find(key)
        if caller is None:
            self._lockout.check(address, key)
            self._lockout.failed(address, key)
            raise AccessError(401, "The key is not known here. Ask whoever runs the service for one.")
        self._lockout.passed(address, key)
        return self._callers.put(key, caller)

    def require_admin(self, caller: Caller) -> None:
        """Refuse whoever is no admin."""
        if not caller.is_admin:
            raise AccessError(403, "Only an admin's key may do that.")

    def forget_callers(self) -> None:
        """Look every key up again: after keys or grants were changed."""
        self._callers.clear()

    # What there is.

    def datasets(self, caller: Caller) -> list[DatasetView]:
        """Return the data sets that a caller may see, by name."""
        return [self.dataset(caller, name) for name in sorted(self.config.datasets) if self._sees(caller, name)]

    def dataset(self, caller: Caller, name: str) -> DatasetView:
        """Return one data set; what the caller may not see is as unknown as what is not there."""
        offer = self._offer(caller, name)
        columns, paying = self._columns(name), caller.grants.get(name)
        terms = self._account(paying).terms if paying else None
        return DatasetView(
            name=name,
            description=offer.description,
            user=offer.user,
            items={column: columns[column] for column in offer.items},
            filters={column: columns[column] for column in offer.filters},
            items_per_user=offer.items_per_user,
            rows_per_item=offer.rows_per_item,
            adjacency=offer.adjacency,
            version=offer.version,
            account=paying,
            result_epsilon=terms.result_epsilon if terms else None,
            question_delta=terms.question_delta if terms else None,
        )

    def streams(self, caller: Caller) -> list[StreamOffer]:
        """Return the streams that a caller may look at."""
        return [one for _, one in sorted(self.config.streams.items()) if self._sees(caller, one.dataset)]

    def stream(self, caller: Caller, name: str) -> StreamOffer:
        """Return one stream."""
        offer = self.config.streams.get(name)
        if offer is None or not self._sees(caller, offer.dataset):
            raise AccessError(404, "There is no such stream, or not for this key.")
        return offer

    def running(self, offer: StreamOffer) -> Stream:
        """Open a stream, to read it."""
        try:
            return Stream.open(offer.folder)
        except UnlistedError as reason:
            raise source_refused(reason) from None

    # Asking.

    def plan(self, caller: Caller, name: str, asked: Asked) -> Plan:
        """Return the plan for a question: cost and accuracy. No data is touched; `run()` would be paid for."""
        return self.planned(caller, name, asked).plan

    def planned(self, caller: Caller, name: str, asked: Asked) -> Planned:
        """Return the plan for a question, with its name and its preview as JSON."""
        known = self.remembered_plan(caller, name, asked)
        if known is not None:
            return known
        offer, account = self._offer(caller, name), self.account(caller, name)
        check(asked, offer, self._columns(name), self.config.limits.fetch)
        made = Planned.of(plan_of(asked, self._tables[name], offer, account))
        return self._planned.put((name, account.name, asked), made)

    def remembered_plan(self, caller: Caller, name: str, asked: Asked) -> Planned | None:
        """Return a plan that was made before. Never waits."""
        return self._planned.get((name, caller.grants.get(name, ""), asked))

    def remembered_version(self, name: str) -> tuple[str | None] | None:
        """Return the version in a tuple, if it was read a moment ago. Never waits."""
        return self._versions.get(name)

    def version(self, caller: Caller, name: str) -> str | None:
        """Return the version of the data that its owner declared, as it was a moment ago at most."""
        self._offer(caller, name)
        return self._versions.put(name, (self.ledger.dataset(name).version,))[0]

    # Looking back.

    def releases(self, caller: Caller, name: str, before: int | None = None, most: int = 50) -> list[PastRelease]:
        """Return past answers, newest first: the caller's account's, or all for an admin."""
        self._offer(caller, name)
        accounts = None if caller.is_admin else [caller.grants[name]]
        found = stored_releases(self.ledger, name, accounts, before=before, most=most)
        return [_past(one) for one in found]

    def release(self, caller: Caller, name: str, entry: int) -> PastRelease:
        """Return one past answer by the number of its entry."""
        self._offer(caller, name)
        found = stored_release(self.ledger, name, entry)
        if found is None or not (caller.is_admin or found.paid.account == caller.grants.get(name)):
            raise AccessError(404, "There is no such release, or not for this key.")
        return _past(found)

    def account(self, caller: Caller, name: str) -> Account:
        """Return the account that pays for a caller's questions about a data set."""
        self._offer(caller, name)
        paying = caller.grants.get(name)
        if paying is None:
            raise AccessError(403, "This key has no account on the data set. An admin can grant one.")
        return self._account(paying)

    def balance(self, caller: Caller, name: str) -> Balance:
        """Return where the caller's account stands."""
        return self.account(caller, name).balance()

    def balances(self, caller: Caller, name: str) -> list[Balance]:
        """Return where every account on a data set stands: for admins."""
        self.require_admin(caller)
        self._offer(caller, name)
        return [self.ledger.account(one.name).balance() for _, one in self.ledger.accounts(name)]

    def history(self, caller: Caller, name: str) -> list[Entry]:
        """Return what happened on a data set, oldest first: to the caller's account, or all for an admin."""
        self._offer(caller, name)
        found = self.ledger.history(name, None if caller.is_admin else caller.grants[name])
        # Where the rows lie is the owner's business.
        return [replace(one, body={key: of for key, of in one.body.items() if key != "source"}) for one in found]

    def shared_sources(self) -> list[tuple[DatasetState, list[str]]]:
        """Return the data sets offered here that share a source with others, and those: their budgets add up."""
        known = self.ledger.datasets()
        found = [(one, sharing(one, known)) for one in known if one.name in self.config.datasets]
        return [(one, others) for one, others in found if others]

    # Readiness.

    def check(self) -> None:
        """Raise if the ledger or a source cannot be reached. No row is read."""
        known = {one.name for one in self.ledger.datasets()}
        for name in self.config.datasets:
            if name not in known:
                raise LedgerError(f"The data set {name!r} is not in the ledger.")
            self._columns(name)

    def _account(self, name: str) -> Account:
        """Attach to an account; its terms never change, so once is enough."""
        return self._accounts.get(name) or self._accounts.put(name, self.ledger.account(name))

    def _sees(self, caller: Caller, name: str) -> bool:
        return name in self.config.datasets and (caller.is_admin or name in caller.grants)

    def _offer(self, caller: Caller, name: str) -> Offer:
        if not self._sees(caller, name):
            raise AccessError(404, "There is no such data set, or not for this key.")
        return self.config.datasets[name]

    def _columns(self, name: str) -> Mapping[str, ColumnType]:
        """Return the columns of a source; the offered ones must be among them."""
        try:
            return offered_columns(self.config.datasets[name], self._tables[name])
        except InvalidArgumentError as reason:
            raise source_refused(reason) from None


def _past(found: StoredRelease) -> PastRelease:
    paid = found.paid
    release = Release.from_bytes(paid.release, stamp=paid.stamp)
    when = datetime.fromisoformat(found.time)
    return PastRelease(release, paid.number, paid.account, when, Amount.read(found.rho, found.delta))
