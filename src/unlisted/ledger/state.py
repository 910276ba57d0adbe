"""The balance as a fold: what each entry does to a data set and an account, written once.

The store caches the state after the last entry. The writer computes it with `after` from the cached one, the
verifier with `after` from nothing; that the two agree is what `ledger verify` proves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from unlisted.errors import LedgerError
from unlisted.ledger.amounts import NOTHING, Amount, nothing
from unlisted.ledger.entries import FIRST, Entry
from unlisted.ledger.policy import Policy
from unlisted.ledger.terms import Terms, period_of
from unlisted.noise.gaussian.accounting import read_kind
from unlisted.privacy.accounting import ZCDP, Accounting

DAY = len("2026-11-18")
"""How many characters of a time name its day, in UTC."""

ACCOUNT_FAILURES, DATASET_FAILURES = 3, 20
"""What is allowed unless the owner says otherwise. A ledger from before this was counted says nothing and is read
with these, so they can never be others."""


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


_OF_ACCOUNTS, _OF_DATASETS = Failures(ACCOUNT_FAILURES), Failures(DATASET_FAILURES)


@dataclass(frozen=True)
class Held:
    """A reservation that is still open."""

    account: str
    amount: Amount
    period_name: str | None


@dataclass(frozen=True)
class AccountState:
    """Where an account stands. `period_used` holds what its present period has used or reserved."""

    name: str
    terms: Terms
    used: Amount = NOTHING
    reserved: Amount = NOTHING
    period_name: str | None = None
    period_used: Amount = NOTHING
    closed: bool = False
    failures: Failures = _OF_ACCOUNTS

    @classmethod
    def opened(cls, name: str, terms: Terms, failures: Failures) -> AccountState:
        """Return where an account stands that was just opened."""
        none = nothing(terms.accounting)
        return cls(name, terms, used=none, reserved=none, period_used=none, failures=failures)

    @property
    def left(self) -> Amount:
        """What is left of the lifetime total."""
        return self.terms.total - self.used - self.reserved

    def left_in_period(self, period_name: str | None) -> Amount | None:
        """Return what is left of the allowance in a period; None without periods."""
        allowance = self.terms.allowance
        if allowance is None:
            return None
        return allowance - self.period_used if period_name == self.period_name else allowance


@dataclass(frozen=True)
class DatasetState:
    """Where a data set stands, and the end of its chain.

    `shares_source` says that another data set may be about the same source, which then has two budgets. `kind`
    says what it counts, and with it all its accounts. `policy` is what its owner lets be asked, and `day_used`
    what the questions of the last day on which there were any could cost at most.
    """

    name: str
    total: Amount = NOTHING
    unit: str | None = None
    adjacency: str | None = None
    source: str | None = None
    version: str | None = None
    used: Amount = NOTHING
    reserved: Amount = NOTHING
    failures: Failures = _OF_DATASETS
    shares_source: bool = True
    kind: str = ZCDP.name
    policy: Policy | None = None
    day_name: str | None = None
    day_used: Amount = NOTHING
    last_number: int = 0
    last_hash: str = FIRST
    last_time: str = ""

    @property
    def accounting(self) -> Accounting:
        """What the data set counts."""
        return read_kind(self.kind)

    @property
    def left(self) -> Amount:
        """What is left of the total that all accounts share."""
        return self.total - self.used - self.reserved

    def used_on(self, day: str) -> Amount:
        """Return what the questions of a day, the last or a later one, could cost at most."""
        return self.day_used if day == self.day_name else nothing(self.accounting)


@dataclass(frozen=True)
class Balance:
    """Where an account stands at a moment: its own share, its period's, and the data set's.

    `last` is what its last question could have cost at most, None before the first.
    """

    account: AccountState
    dataset: DatasetState
    time: str
    last: Amount | None = None

    def _repr_html_(self) -> str:
        from unlisted.ledger.display import balance_as_html  # noqa: PLC0415 - it knows balances

        return balance_as_html(self)

    @property
    def more_like_last(self) -> int | None:
        """How many more questions like the last one fit now; None before the first."""
        return None if self.last is None else self.last.times_in(self.left)

    @property
    def period_name(self) -> str | None:
        """The name of the present period."""
        period = self.account.terms.period
        return None if period is None else period_of(period, datetime.fromisoformat(self.time))

    @property
    def left_in_period(self) -> Amount | None:
        """What the present period still allows."""
        return self.account.left_in_period(self.period_name)

    @property
    def left_for_life(self) -> Amount:
        """What all later questions together may cost, over all periods: the least of account and data set."""
        return self.account.left.least(self.dataset.left)

    @property
    def left(self) -> Amount:
        """What a next question may cost: the least of account, period and data set."""
        in_period = self.left_in_period
        return self.left_for_life if in_period is None else self.left_for_life.least(in_period)


@dataclass(frozen=True)
class State:
    """A data set with its accounts and open reservations."""

    dataset: DatasetState
    accounts: Mapping[str, AccountState] = field(default_factory=dict)
    held: Mapping[int, Held] = field(default_factory=dict)

    def after(self, entry: Entry) -> State:
        """Return the state after one more entry."""
        dataset = replace(self.dataset, last_number=entry.number, last_hash=entry.hash, last_time=entry.time)
        state = replace(self, dataset=dataset)
        if entry.kind == "opened":
            return state._opened(entry)
        if entry.kind == "declared":
            return replace(state, dataset=replace(dataset, version=entry.body["version"]))
        if entry.kind == "moved":
            return replace(state, dataset=replace(dataset, source=entry.body["source"]))
        if entry.kind == "ruled":
            return replace(state, dataset=replace(dataset, policy=Policy.from_dict(entry.body["policy"])))
        if entry.kind == "charged":
            return state._charged(entry)
        if entry.kind == "reserved":
            return state._reserved(entry)
        if entry.kind in ("settled", "forfeited"):
            return state._ended(entry)
        if entry.kind == "closed":
            return state._with_account(replace(self.accounts[entry.account or ""], closed=True))
        if entry.kind == "allowed":
            return state._with_failures(entry.account, allowed=entry.body["failures"])
        if entry.kind == "thawed":
            return state._with_failures(entry.account, seen=0)
        raise LedgerError(
            f"The ledger holds an entry of an unknown kind, {entry.kind!r}. Upgrade unlisted to read it."
        )

    def _opened(self, entry: Entry) -> State:
        if entry.account is not None:
            failures = Failures(entry.body.get("failures", ACCOUNT_FAILURES))
            terms = Terms.from_dict(entry.body["terms"])
            if terms.kind != self.dataset.kind:
                raise LedgerError("The ledger opens an account of another kind than its data set's.")
            return self._with_account(AccountState.opened(entry.account, terms, failures))
        body = entry.body
        kind = body.get("kind", ZCDP.name)
        none = nothing(read_kind(kind))
        dataset = replace(
            self.dataset,
            total=none + entry.amount,
            used=none,
            reserved=none,
            day_used=none,
            kind=kind,
            unit=body.get("unit"),
            adjacency=body.get("adjacency"),
            source=body.get("source"),
            version=body.get("version"),
            failures=Failures(body.get("failures", DATASET_FAILURES)),
            # Before this was asked, nobody said no.
            shares_source=body.get("shares_source", True),
        )
        return replace(self, dataset=dataset)

    def _reserved(self, entry: Entry) -> State:
        account = self.accounts[entry.account or ""]
        if self.is_frozen(account.name):
            raise LedgerError("The ledger begins a question although failures had frozen it.")
        period = account.terms.period
        name = None if period is None else period_of(period, datetime.fromisoformat(entry.time))
        none = nothing(account.terms.accounting)
        before = account.period_used if name == account.period_name else none
        account = replace(
            account,
            reserved=account.reserved + entry.amount,
            period_name=name,
            period_used=before + entry.amount if period else none,
            failures=replace(account.failures, open=account.failures.open + 1),
        )
        day = entry.time[:DAY]
        # The first question fixes what the owner left open.
        dataset = replace(
            self.dataset,
            reserved=self.dataset.reserved + entry.amount,
            day_name=day,
            day_used=self.dataset.used_on(day) + entry.amount,
            unit=self.dataset.unit or entry.body.get("unit"),
            adjacency=self.dataset.adjacency or entry.body.get("adjacency"),
            source=self.dataset.source or entry.body.get("source"),
            failures=replace(self.dataset.failures, open=self.dataset.failures.open + 1),
        )
        held = {**self.held, entry.number: Held(account.name, entry.amount, name)}
        return replace(self, dataset=dataset, accounts={**self.accounts, account.name: account}, held=held)

    def _charged(self, entry: Entry) -> State:
        """Take a loss out that was booked by hand: it is a fact, also where it is more than what was left."""
        dataset = replace(self.dataset, used=self.dataset.used + entry.amount)
        state = replace(self, dataset=dataset)
        if entry.account is None:
            return state
        account = self.accounts[entry.account]
        period = account.terms.period
        name = None if period is None else period_of(period, datetime.fromisoformat(entry.time))
        before = account.period_used if name == account.period_name else nothing(account.terms.accounting)
        changed = {} if period is None else {"period_name": name, "period_used": before + entry.amount}
        return state._with_account(replace(account, used=account.used + entry.amount, **changed))  # type: ignore[arg-type]

    def _ended(self, entry: Entry) -> State:
        held = self.held.get(entry.reservation or 0)
        if held is None:
            raise LedgerError("The ledger ends a reservation that is not open.")
        back = held.amount - entry.amount
        account = self.accounts[held.account]
        failed = self._failed(entry, held.account)
        same_period = held.period_name is not None and held.period_name == account.period_name
        account = replace(
            account,
            used=account.used + entry.amount,
            reserved=account.reserved - held.amount,
            period_used=account.period_used - back if same_period else account.period_used,
            failures=_after_end(account.failures, failed),
        )
        dataset = replace(
            self.dataset,
            used=self.dataset.used + entry.amount,
            reserved=self.dataset.reserved - held.amount,
            failures=_after_end(self.dataset.failures, failed),
        )
        rest = {number: one for number, one in self.held.items() if number != entry.reservation}
        return replace(self, dataset=dataset, accounts={**self.accounts, account.name: account}, held=rest)

    def is_frozen(self, account: str) -> bool:
        """Return whether an account, or the data set with all of its accounts, has used up its failures."""
        return self.dataset.failures.frozen or self.accounts[account].failures.frozen

    def next_failure(self, account: str) -> int:
        """Return which failure of its allowance an account's next one is; 0 while frozen, when none is counted."""
        return 0 if self.is_frozen(account) else self.accounts[account].failures.seen + 1

    def _failed(self, entry: Entry, account: str) -> bool:
        """Return whether the end of a question counts as a failure; refuse one that cannot have been written."""
        if entry.kind == "settled":
            if self.is_frozen(account):
                raise LedgerError("The ledger answers a question although failures had frozen it.")
            return False
        if "failure" not in entry.body:  # from before failures were counted
            return False
        if entry.body["failure"] != self.next_failure(account):
            raise LedgerError("The ledger does not count a failure as it should.")
        return bool(entry.body["failure"])

    def _with_failures(self, account: str | None, **changed: int) -> State:
        if account is None:
            failures = replace(self.dataset.failures, **changed)
            return replace(self, dataset=replace(self.dataset, failures=failures))
        state = self.accounts[account]
        return self._with_account(replace(state, failures=replace(state.failures, **changed)))

    def _with_account(self, account: AccountState) -> State:
        return replace(self, accounts={**self.accounts, account.name: account})


def _after_end(failures: Failures, failed: bool) -> Failures:
    return replace(failures, seen=failures.seen + failed, open=failures.open - 1)
