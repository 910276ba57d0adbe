"""The budget: who spent what, over time. An analyst sees their own account, an admin all of them.

`Standing` is where a budget stands as numbers that a page can draw: parts of a whole, rounded against us.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import Response

from unlisted.ledger.amounts import Amount
from unlisted.ledger.entries import Entry
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
    )


def dataset_part(dataset: DatasetState) -> Part:
    """Return where the ρ stands that all accounts of a data set share."""
    gone = dataset.used + dataset.reserved
    return Part(dataset.total.guarantee().rho, gone.guarantee().rho, dataset.left.guarantee().rho)


router = APIRouter()

_MOST_ENTRIES = 50
_SPENT = ("settled", "forfeited")


@dataclass(frozen=True)
class Book:
    """What happened to one data set's budget, as far as the visitor may see it."""

    name: str
    shared: Part | None
    failures: Failures | None
    accounts: list[Standing]
    entries: list[Entry]
    hidden: int
    chart: Markup | None


@router.get("/budget")
def show(visit: Signed) -> Response:
    """Show every data set's book."""
    names = [one.name for one in visit.service.datasets(visit.caller)]
    return visit.page("budget.html", {"current": "Budget", "books": [_book(visit, name) for name in names]})


def _book(visit: SignedIn, name: str) -> Book:
    service, caller = visit.service, visit.caller
    balances = service.balances(caller, name) if caller.is_admin else [service.balance(caller, name)]
    entries = service.history(caller, name)
    spent = [entry.as_dict() for entry in entries if entry.kind in _SPENT]
    return Book(
        name=name,
        shared=dataset_part(balances[0].dataset) if balances else None,
        # How often others failed is for whoever can do something about it.
        failures=balances[0].dataset.failures if balances and caller.is_admin else None,
        accounts=[standing_of(one) for one in balances],
        entries=entries[: -_MOST_ENTRIES - 1 : -1],
        hidden=max(0, len(entries) - _MOST_ENTRIES),
        chart=picture(spending_chart(spent), _said(name)) if len(spent) > 1 else None,
    )


def _said(name: str) -> str:
    return f"The ρ that was spent on {name}, added up over time for each account. The table below has each step."
