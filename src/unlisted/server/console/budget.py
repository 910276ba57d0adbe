"""The budget: who spent what, over time. An analyst sees their own account, an admin all of them.

`Standing` is where a budget stands as numbers that a page can draw: parts of a whole, rounded against us.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Annotated

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.rows import Page
from unlisted.ledger.state import Balance, DatasetState, Failures
from unlisted.privacy.guarantee import Guarantee
from unlisted.release.charts import spending_chart
from unlisted.server.console.charts import picture
from unlisted.server.console.visits import Signed, SignedIn


@dataclass(frozen=True)
class Part:
    """Of one amount, ρ or δ: the total, what is gone (spent or reserved), what may still be spent."""

    total: Fraction
    gone: Fraction
    left: Fraction

    @property
    def share(self) -> float:
        """The part of the total that is gone, between 0 and 1."""
        return float(self.gone / self.total) if self.total else 1.0

    def share_of(self, cost: Fraction) -> float:
        """Return the part of the total that a cost would take."""
        return float(cost / self.total) if self.total else 1.0


@dataclass(frozen=True)
class PeriodPart:
    """What an account may spend in the present period, and the day on which its allowance starts anew (UTC)."""

    kind: str
    rho: Part
    delta: Part
    next_start: date


@dataclass(frozen=True)
class Standing:
    """Where an account stands, within the data set that it shares with others.

    `left` is the least of what account, period and data set still allow: what a next question may cost.
    """

    account: str
    closed: bool
    rho: Part
    delta: Part
    left: Guarantee
    failures: Failures
    dataset_frozen: bool
    dataset_left: Guarantee
    period: PeriodPart | None = None

    @property
    def drawn(self) -> Part:
        """What a meter shows: ρ of the period where there is one, for that is what runs out first."""
        return self.rho if self.period is None else self.period.rho

    def lacks(self, cost: Guarantee) -> str:
        """Return what has too little left for a cost: the account, its period, or the data set; empty if none."""
        amount = Amount.charge(cost)
        own = Guarantee(self.rho.total - self.rho.gone, self.delta.total - self.delta.gone)
        parts = {"account": own, "data set": self.dataset_left}
        if self.period is not None:
            parts = {self.period.kind: Guarantee(self.period.rho.left, self.period.delta.left), **parts}
        short = (name for name, left in parts.items() if not amount.fits(Amount.allowance(left.rho, left.delta)))
        return next(short, "")

    @property
    def frozen(self) -> bool:
        """Whether too many questions failed, of the account or of all accounts together."""
        return self.failures.frozen or self.dataset_frozen

    def after(self, cost: Guarantee) -> Guarantee | None:
        """Return what is left when a cost is taken out; None if it does not fit."""
        amount = Amount.charge(cost)
        left = Amount.allowance(self.left.rho, self.left.delta)
        return (left - amount).guarantee() if amount.fits(left) else None


def standing_of(balance: Balance) -> Standing:
    """Return where an account stands."""
    account, left = balance.account, balance.left.guarantee()
    total, gone = account.terms.total.guarantee(), (account.used + account.reserved).guarantee()
    return Standing(
        account=account.name,
        closed=account.closed,
        rho=Part(total.rho, gone.rho, left.rho),
        delta=Part(total.delta, gone.delta, left.delta),
        left=left,
        failures=account.failures,
        dataset_frozen=balance.dataset.failures.frozen,
        dataset_left=balance.dataset.left.guarantee(),
        period=_period_of(balance),
    )


def _period_of(balance: Balance) -> PeriodPart | None:
    terms, left_of_it = balance.account.terms, balance.left_in_period
    if terms.period is None or terms.allowance is None or left_of_it is None:
        return None
    total, left = terms.allowance.guarantee(), left_of_it.guarantee()
    return PeriodPart(
        terms.period,
        Part(total.rho, total.rho - left.rho, left.rho),
        Part(total.delta, total.delta - left.delta, left.delta),
        _next_start(terms.period, datetime.fromisoformat(balance.time).astimezone(UTC).date()),
    )


def _next_start(period: str, today: date) -> date:
    """Return the first day of the next period."""
    if period == "day":
        return today + timedelta(days=1)
    if period == "week":
        return today + timedelta(days=7 - today.weekday())
    if period == "year":
        return date(today.year + 1, 1, 1)
    return date(today.year + today.month // 12, today.month % 12 + 1, 1)


def dataset_part(dataset: DatasetState) -> Part:
    """Return where the ρ stands that all accounts of a data set share."""
    gone = dataset.used + dataset.reserved
    return Part(dataset.total.guarantee().rho, gone.guarantee().rho, dataset.left.guarantee().rho)


router = APIRouter()

_MOST_ENTRIES, _MOST_DRAWN = 50, 500
_SPENT = ("settled", "forfeited")

Before = Annotated[int | None, Query(ge=1, le=2**53)]


@dataclass(frozen=True)
class Book:
    """What happened to one data set's budget, as far as the visitor may see it."""

    name: str
    shared: Part | None
    failures: Failures | None
    accounts: list[Standing]
    entries: list[Entry]
    older: int | None
    chart: Markup | None


@router.get("/budget")
def show(visit: Signed) -> Response:
    """Show every data set's book."""
    books = [_book(visit, name) for name in visit.service.names(visit.caller)]
    return visit.page("budget.html", {"current": "Budget", "books": books, "only": None})


@router.get("/budget/{name}")
def of_one(visit: Signed, name: str, before: Before = None) -> Response:
    """Show one data set's book, a page of entries at a time."""
    visit.service.require_seen(visit.caller, name)
    book = _book(visit, name, before)
    return visit.page("budget.html", {"current": "Budget", "books": [book], "only": name})


def _book(visit: SignedIn, name: str, before: int | None = None) -> Book:
    service, caller = visit.service, visit.caller
    balances = service.balances(caller, name) if caller.is_admin else [service.balance(caller, name)]
    newest = Page(_MOST_ENTRIES + 1, before=before, newest_first=True)
    entries = service.history(caller, name, newest)
    return Book(
        name=name,
        shared=dataset_part(balances[0].dataset) if balances else None,
        # How often others failed is for whoever can do something about it.
        failures=balances[0].dataset.failures if balances and caller.is_admin else None,
        accounts=[standing_of(one) for one in balances],
        entries=entries[:_MOST_ENTRIES],
        older=entries[_MOST_ENTRIES - 1].number if len(entries) > _MOST_ENTRIES else None,
        chart=None if before else _spending(visit, name, balances),
    )


def _spending(visit: SignedIn, name: str, balances: list[Balance]) -> Markup | None:
    """Draw what was spent lately; each line begins at what its account had spent before."""
    drawn = Page(_MOST_DRAWN, kinds=_SPENT, newest_first=True)
    steps = [entry.as_dict() for entry in reversed(visit.service.history(visit.caller, name, drawn))]
    if len(steps) < 2:
        return None
    shown: dict[str, Fraction] = {}
    for step in steps:
        shown[step["account"]] = shown.get(step["account"], Fraction(0)) + Fraction(step["rho"])
    used = {one.account.name: one.account.used.guarantee().rho for one in balances}
    before = {account: rho - shown.get(account, Fraction(0)) for account, rho in used.items()}
    first = [
        {"time": steps[0]["time"], "kind": "settled", "account": account, "rho": float(rho)}
        for account, rho in before.items()
        if rho > 0
    ]
    return picture(lambda: spending_chart([*first, *steps]), _said(name), slim=True)


def _said(name: str) -> str:
    return f"The ρ that was spent on {name}, added up over time for each account. The table below has each step."
