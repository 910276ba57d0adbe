"""What a caller may do. The API and the console both ask here, and nothing is decided elsewhere.

A caller sees the data sets it has a grant for, and asks about them at the cost of the account that the grant
names. What it may not see looks like what is not there. An admin sees every data set and every account, and asks
only where it has a grant like anybody else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unlisted.errors import AccessError, InvalidArgumentError, LedgerError, UnlistedError
from unlisted.ledger.account import Account
from unlisted.ledger.amounts import Amount
from unlisted.ledger.declarations import sharing
from unlisted.ledger.entries import Entry
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.rows import Page
from unlisted.ledger.state import Balance, DatasetState
from unlisted.ledger.stored_releases import (
    StoredRelease,
    named_question,
    newest_releases,
    stored_release,
    stored_releases,
)
from unlisted.query.plan import Plan
from unlisted.release.release import Release, guarantee_as_dict, thawed
from unlisted.server.auth import Caller, KeyRing
from unlisted.server.cache import Cache
from unlisted.server.config import Config, Offer, StreamOffer
from unlisted.server.executor import source_refused
from unlisted.server.limits import Lockout
from unlisted.server.planning import Asked, Planned, check, plan_of
from unlisted.server.shared_state import put, signs_of_life
from unlisted.server.sign_on.identities import is_signed_on
from unlisted.server.startup import offered_columns, open_table
from unlisted.streams.stream import Stream
from unlisted.tables.column_types import ColumnType

if TYPE_CHECKING:
    from unlisted.server.sign_on.people import People  # needs an extra

REMEMBERED_SECONDS = 1.0
"""For so long a key that was accepted, and the version of a data set, are not looked up again: a revoked key is
refused, and a new version seen, that much later."""

_MOST_REMEMBERED = 4096
_UNKNOWN_KEY = "The key is not known here. Ask whoever runs the service for one."
_NOT_TAKEN = "The token is not one that this service takes. Get one from the sign-on service that it trusts."


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
    kind: str | None = None


@dataclass(frozen=True)
class PastRelease:
    """An answer that was paid for, with what it cost."""

    release: Release
    entry: int
    account: str
    time: datetime
    cost: Amount


@dataclass(frozen=True)
class ReleaseSummary:
    """The same without its rows, for lists: of those there is only the number."""

    dataset: str
    entry: int
    account: str
    time: datetime
    cost: Amount
    plan: Mapping[str, Any]
    guarantee: Mapping[str, float]
    rows: int


@dataclass(frozen=True)
class LostQuestion:
    """A question that was charged and not answered: how it ended, and how it began."""

    entry: Entry
    begun: Mapping[str, Any]

    @property
    def words(self) -> str:
        """Which question it was; of one from an earlier version, the beginning of its name is all there is."""
        return str(self.begun.get("asked") or f"question {str(self.begun.get('question', ''))[:12]}")

    @property
    def by(self) -> str | None:
        """The key or the person that asked, where a service was asked."""
        return self.begun.get("by")


class QueryService:
    """One service's rules, over its ledger and its tables."""

    def __init__(self, config: Config, ledger: Ledger, people: People | None = None) -> None:
        self.config = config
        self.ledger = ledger
        self.keys = KeyRing(ledger)
        self.people = people
        self._lockout = Lockout(ledger.store)
        self._tables = {name: open_table(offer) for name, offer in config.datasets.items()}
        self._callers: Cache[str, Caller] = Cache(_MOST_REMEMBERED, REMEMBERED_SECONDS)
        self._states: Cache[str, DatasetState] = Cache(_MOST_REMEMBERED, REMEMBERED_SECONDS)
        self._planned: Cache[tuple[str, str, Asked], Planned] = Cache(_MOST_REMEMBERED)
        self._accounts: Cache[str, Account] = Cache(_MOST_REMEMBERED)

    # Who it is.

    def remembered(self, key: str) -> Caller | None:
        """Return who a key belongs to, if it was looked up a moment ago. Never waits."""
        return self._callers.get(key)

    def enter(self, key: str, address: str) -> Caller:
        """Return who a key belongs to, or the session or token of somebody who signed in elsewhere.

        Wrong ones are answered slower and slower; a right one never waits.
        """
        known = self.remembered(key)
        if known is not None:
            return known
        is_key = self.people is None or not is_signed_on(key)
        caller = self.keys.find(key) if self.people is None or is_key else self.people.find(key)
        if caller is None:
            self._lockout.check(address, key)
            self._lockout.failed(address, key)
            raise AccessError(401, _UNKNOWN_KEY if is_key else _NOT_TAKEN)
        self._lockout.passed(address, key)
        return self._callers.put(key, caller)

    def leave(self, key: str) -> None:
        """End the session of somebody who signed in elsewhere; a key stays what it is."""
        if self.people is not None:
            self.people.end(key)
            self._callers.clear()

    def require_admin(self, caller: Caller) -> None:
        """Refuse whoever is no admin."""
        if not caller.is_admin:
            raise AccessError(403, "Only an admin's key may do that.")

    def on_behalf_of(self, caller: Caller) -> QueryService:
        """Return the same service, whose changes say in the ledger which key made them."""
        acting = copy(self)
        acting.ledger, acting.keys = self.ledger.on_behalf_of(caller.key), self.keys.on_behalf_of(caller.key)
        return acting

    def forget(self) -> None:
        """Look everything up again: after an admin changed keys, grants or what may be asked."""
        self._callers.clear()
        self._states.clear()

    # What there is.

    def datasets(self, caller: Caller) -> list[DatasetView]:
        """Return the data sets that a caller may see, by name."""
        return [self.dataset(caller, name) for name in self.names(caller)]

    def names(self, caller: Caller) -> list[str]:
        """Return the names of the data sets that a caller may see."""
        return [name for name in sorted(self.config.datasets) if self._sees(caller, name)]

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
            version=self.state(caller, name).version,
            account=paying,
            result_epsilon=terms.result_epsilon if terms else None,
            question_delta=terms.question_delta if terms else None,
            kind=terms.kind if terms else None,
        )

    def streams(self, caller: Caller) -> list[StreamOffer]:
        """Return the streams that a caller may look at."""
        return [one for _, one in sorted(self.config.streams.items()) if self._sees(caller, one.dataset)]

    def stream(self, caller: Caller, name: str) -> StreamOffer:
        """Return one stream."""
        offer = self.config.streams.get(name)
        if offer is None or not self._sees(caller, offer.dataset):
            raise AccessError(404, "There is no such stream, or this key may not see it.")
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

    def remembered_state(self, name: str) -> DatasetState | None:
        """Return where a data set stood, if that was read a moment ago. Never waits."""
        return self._states.get(name)

    def state(self, caller: Caller, name: str) -> DatasetState:
        """Return where a data set stands, with its version and its policy, as it was a moment ago at most."""
        self._offer(caller, name)
        return self.remembered_state(name) or self._states.put(name, self.ledger.dataset(name))

    def asked_by(self, caller: Caller, plan: Plan) -> Plan:
        """Return a plan whose entry in the ledger says who asked."""
        account = plan.account
        return plan.paid_by(replace(account, asked_by=caller.key)) if isinstance(account, Account) else plan

    # Looking back.

    def releases(
        self, caller: Caller, name: str, before: int | None = None, most: int = 50
    ) -> list[ReleaseSummary]:
        """Return past answers, newest first: the caller's account's, or all for an admin."""
        self._offer(caller, name)
        accounts = None if caller.is_admin else [caller.grants[name]]
        found = stored_releases(self.ledger, name, accounts, before=before, most=most)
        return [_summary(one) for one in found]

    def newest_releases(self, caller: Caller, most: int) -> list[ReleaseSummary]:
        """Return the newest past answers about all data sets that a caller may see."""
        whose = {name: None if caller.is_admin else caller.grants[name] for name in self.names(caller)}
        found = (stored_release(self.ledger, *one) for one in newest_releases(self.ledger, whose, most))
        return [_summary(one) for one in found if one is not None]

    def release(self, caller: Caller, name: str, entry: int) -> PastRelease:
        """Return one past answer by the number of its entry."""
        self._offer(caller, name)
        found = stored_release(self.ledger, name, entry)
        if found is None or not (caller.is_admin or found.paid.account == caller.grants.get(name)):
            raise AccessError(404, "There is no such release, or this key may not see it.")
        past = _past(found)
        return replace(past, release=found.paid.stamped(past.release))

    def question_state(self, caller: Caller, name: str, idempotency_key: str) -> tuple[str, int | None] | None:
        """Return what became of a question under its name: open, settled or forfeited, and the entry; or None."""
        account = self.account(caller, name)
        return named_question(self.ledger, account.name, idempotency_key)

    def lost_questions(self, caller: Caller, most: int, only: str | None = None) -> list[LostQuestion]:
        """Return the newest questions that were charged and not answered, about all data sets or one."""
        page = Page(most, kinds=("forfeited",), newest_first=True)
        names = self.names(caller) if only is None else [only]
        found = [entry for name in names for entry in self.history(caller, name, page)]
        newest = sorted(found, key=lambda one: one.time, reverse=True)[:most]
        return [LostQuestion(entry, self._reserved(caller, entry)) for entry in newest]

    def _reserved(self, caller: Caller, ended: Entry) -> Mapping[str, Any]:
        """Return what was written down when a question began that ended so."""
        number = ended.reservation or ended.number
        begun = self.history(caller, ended.dataset, Page(1, after=number - 1))
        return begun[0].body if begun and begun[0].number == number else {}

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

    def history(self, caller: Caller, name: str, page: Page) -> list[Entry]:
        """Return a part of what happened on a data set: to the caller's account, or all for an admin."""
        self._offer(caller, name)
        found = self.ledger.history_page(name, None if caller.is_admin else caller.grants[name], page)
        # Where the rows lie is the owner's business.
        return [replace(one, body={key: of for key, of in one.body.items() if key != "source"}) for one in found]

    def shared_sources(self) -> list[tuple[DatasetState, list[str]]]:
        """Return the data sets offered here that share a source with others, and those: their budgets add up."""
        known = self.ledger.datasets()
        found = [(one, sharing(one, known)) for one in known if one.name in self.config.datasets]
        return [(one, others) for one, others in found if others]

    # Readiness.

    def check(self) -> None:
        """Raise if the ledger cannot be written to, or a source not be reached. No row is read."""
        with self.ledger.store.writing() as connection:
            put(connection, signs_of_life, {"name": "ready", "time": time.time()})
        known = {one.name for one in self.ledger.datasets()}
        for name in self.config.datasets:
            if name not in known:
                raise LedgerError(f"The data set {name!r} is not in the ledger.")
            self._columns(name)

    def _account(self, name: str) -> Account:
        """Attach to an account; its terms never change, so once is enough."""
        return self._accounts.get(name) or self._accounts.put(name, self.ledger.account(name))

    def require_seen(self, caller: Caller, name: str) -> None:
        """Refuse a data set that a caller may not see, or that is not there."""
        self._offer(caller, name)

    def _sees(self, caller: Caller, name: str) -> bool:
        return name in self.config.datasets and (caller.is_admin or name in caller.grants)

    def _offer(self, caller: Caller, name: str) -> Offer:
        if not self._sees(caller, name):
            raise AccessError(404, "There is no such data set, or this key may not see it.")
        return self.config.datasets[name]

    def _columns(self, name: str) -> Mapping[str, ColumnType]:
        """Return the columns of a source; the offered ones must be among them."""
        try:
            return offered_columns(self.config.datasets[name], self._tables[name])
        except InvalidArgumentError as reason:
            raise source_refused(reason) from None


def _summary(found: StoredRelease) -> ReleaseSummary:
    past = _past(found)
    release, guarantee = past.release, guarantee_as_dict(past.release.guarantee, past.release.at_delta)
    return ReleaseSummary(
        found.paid.dataset,
        past.entry,
        past.account,
        past.time,
        past.cost,
        thawed(release.plan),
        guarantee,
        len(release),
    )


def _past(found: StoredRelease) -> PastRelease:
    paid = found.paid
    release = Release.from_bytes(paid.release, stamp=replace(paid, sign=None).stamp)
    when = datetime.fromisoformat(found.time)
    return PastRelease(release, paid.number, paid.account, when, found.cost)
