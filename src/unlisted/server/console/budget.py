"""The budget: who spent what, over time. An analyst sees their own account, an admin all of them."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from markupsafe import Markup
from starlette.responses import Response

from unlisted.ledger.entries import Entry
from unlisted.ledger.state import Failures
from unlisted.release.charts import spending_chart
from unlisted.server.console.budget_figures import Part, Standing, dataset_part, standing_of
from unlisted.server.console.pictures import picture
from unlisted.server.console.visits import Signed, SignedIn

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
    names = [one.name for one in visit.desk.datasets(visit.caller)]
    return visit.page("budget.html", {"current": "Budget", "books": [_book(visit, name) for name in names]})


def _book(visit: SignedIn, name: str) -> Book:
    desk, caller = visit.desk, visit.caller
    balances = desk.balances(caller, name) if caller.is_admin else [desk.balance(caller, name)]
    entries = desk.history(caller, name)
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
