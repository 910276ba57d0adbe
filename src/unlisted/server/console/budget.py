"""The budget: who spent what, over time. An analyst sees their own account, an admin all of them.

`Standing` is where a budget stands as numbers that a page can draw: parts of a whole, rounded against us.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.responses import Response

from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
from unlisted.ledger.rows import Page
from unlisted.ledger.state import Balance, DatasetState, Failures
from unlisted.privacy.accounting import ZCDP
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
class Standing:
    """Where an account stands, within the data set that it shares with others.

    `symbol` names what is counted, ρ or μ². `left` is the least of what account, period and data set still allow:
    what a next question may cost.
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
    )


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
    symbol = entries[0].amount.accounting.symbol if entries else ZCDP.symbol
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
    return picture(spending_chart([*first, *steps]), _said(name, "ρ" if counted == "rho" else "μ²"))


def _said(name: str, symbol: str) -> str:
    return f"The {symbol} that was spent on {name}, added up over time for each account; the table has each step."
