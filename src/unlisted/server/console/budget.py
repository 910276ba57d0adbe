"""The budget: who spent what, over time. An analyst sees their own account, an admin all of them.

`Standing` is where a budget stands as numbers that a page can draw: parts of a whole, rounded against us.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.rows import Page
from unlisted.ledger.state import Balance, DatasetState, Failures
from unlisted.ledger.terms import Period
from unlisted.privacy.accounting import ZCDP
from unlisted.privacy.guarantee import Guarantee
from unlisted.release.charts import spending_chart
from unlisted.server.console.charts import picture
from unlisted.server.console.visits import Signed, SignedIn

Limit = Literal["period", "account", "data set"]


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

    kind: Period
    loss: Part
    next_start: date

    @property
    def now(self) -> str:
        """The present period in words."""
        return "today" if self.kind == "day" else f"this {self.kind}"


@dataclass(frozen=True)
class Standing:
    """Where an account stands, within the data set that it shares with others.

    `symbol` names what is counted, ρ or μ². `limits` says what its period, if it has one, the account and the data
    set each still allow; `left` is the least of them: what a next question may cost.
    """

    account: str
    closed: bool
    symbol: str
    loss: Part
    delta: Part
    left: Amount
    more_like_last: int | None
    failures: Failures
    dataset_frozen: bool
    limits: Mapping[Limit, Amount]
    period: PeriodPart | None = None

    @property
    def drawn(self) -> Part:
        """What a meter shows: the account's whole life, or its period where less is left of that."""
        if self.period is None or self.limits["account"].loss < self.limits["period"].loss:
            return self.loss
        return self.period.loss

    @property
    def now(self) -> str:
        """The words that belong to what is drawn: of a period, which one."""
        return "" if self.period is None or self.drawn is self.loss else f" {self.period.now}"

    def lacks(self, ceiling: Guarantee) -> Limit | None:
        """Return what has too little left for a cost; None if it fits."""
        cost = self.cost(ceiling)
        # What comes back by waiting is said only where waiting helps.
        order: tuple[Limit, ...] = ("account", "data set", "period")
        return next((name for name in order if name in self.limits and not cost.fits(self.limits[name])), None)

    @property
    def frozen(self) -> bool:
        """Whether too many questions failed, of the account or of all accounts together."""
        return self.failures.frozen or self.dataset_frozen

    def cost(self, ceiling: Guarantee) -> Amount:
        """Return what a question costs, in what the account counts."""
        return Amount.charge(ceiling, self.left.accounting)

    def after(self, ceiling: Guarantee) -> Amount | None:
        """Return what is left when a cost is taken out; None if it does not fit."""
        cost = self.cost(ceiling)
        return self.left - cost if cost.fits(self.left) else None

    def more_like(self, ceiling: Guarantee) -> int | None:
        """Return how many such questions fit; None if it costs nothing."""
        return self.cost(ceiling).times_in(self.left)


def standing_of(balance: Balance) -> Standing:
    """Return where an account stands."""
    account, left = balance.account, balance.left
    parts = zip(account.terms.total.exact, (account.used + account.reserved).exact, left.exact, strict=True)
    loss, delta = (Part(*one) for one in parts)
    return Standing(
        account=account.name,
        closed=account.closed,
        symbol=account.terms.accounting.symbol,
        loss=loss,
        delta=delta,
        left=left,
        more_like_last=balance.more_like_last,
        failures=account.failures,
        dataset_frozen=balance.dataset.failures.frozen,
        limits=_limits_of(balance),
        period=_period_of(balance),
    )


def _limits_of(balance: Balance) -> dict[Limit, Amount]:
    limits: dict[Limit, Amount] = {"account": balance.account.left, "data set": balance.dataset.left}
    in_period = balance.left_in_period
    return limits if in_period is None else {"period": in_period, **limits}


def _period_of(balance: Balance) -> PeriodPart | None:
    terms, in_period = balance.account.terms, balance.left_in_period
    if terms.period is None or terms.allowance is None or in_period is None:
        return None
    total, gone = terms.allowance.exact[0], (terms.allowance - in_period).exact[0]
    today = datetime.fromisoformat(balance.time).astimezone(UTC).date()
    return PeriodPart(terms.period, Part(total, gone, balance.left.exact[0]), _next_start(terms.period, today))


def _next_start(period: Period, today: date) -> date:
    """Return the first day of the next period."""
    if period == "day":
        return today + timedelta(days=1)
    if period == "week":
        return today + timedelta(days=7 - today.weekday())
    if period == "year":
        return date(today.year + 1, 1, 1)
    return date(today.year + today.month // 12, today.month % 12 + 1, 1)


def dataset_part(dataset: DatasetState) -> Part:
    """Return where the ρ or μ² stands that all accounts of a data set share."""
    gone = dataset.used + dataset.reserved
    return Part(dataset.total.exact[0], gone.exact[0], dataset.left.exact[0])


router = APIRouter()

_MOST_ENTRIES, _MOST_DRAWN = 50, 500
_SPENT = ("settled", "forfeited")

Before = Annotated[int | None, Query(ge=1, le=2**53)]


@dataclass(frozen=True)
class Book:
    """What happened to one data set's budget, as far as the visitor may see it."""

    name: str
    symbol: str
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
    symbol = balances[0].account.terms.accounting.symbol if balances else ZCDP.symbol
    return Book(
        name=name,
        symbol=symbol,
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
    counted = "rho" if "rho" in steps[0] else "mu_squared"
    shown: dict[str, Fraction] = {}
    for step in steps:
        shown[step["account"]] = shown.get(step["account"], Fraction(0)) + Fraction(step[counted])
    used = {one.account.name: one.account.used.exact[0] for one in balances}
    before = {account: loss - shown.get(account, Fraction(0)) for account, loss in used.items()}
    first = [
        {"time": steps[0]["time"], "kind": "settled", "account": account, counted: float(loss)}
        for account, loss in before.items()
        if loss > 0
    ]
    said = _said(name, "ρ" if counted == "rho" else "μ²")
    return picture(lambda: spending_chart([*first, *steps]), said, slim=True)


def _said(name: str, symbol: str) -> str:
    return f"The {symbol} that was spent on {name}, added up over time for each account; the table has each step."
