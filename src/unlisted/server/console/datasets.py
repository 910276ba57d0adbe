"""The data sets that a visitor may ask about, and what is left to spend on each."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from unlisted.server.console.budget_figures import Standing, standing_of
from unlisted.server.console.visits import Signed
from unlisted.server.desk import DatasetView

router = APIRouter()


@dataclass(frozen=True)
class Offered:
    """A data set, and where the visitor's account on it stands; None without an account."""

    dataset: DatasetView
    standing: Standing | None


@router.get("/")
def show(visit: Signed) -> Response:
    """List the data sets."""
    desk, caller = visit.desk, visit.caller
    offered = [
        Offered(one, standing_of(desk.balance(caller, one.name)) if one.account else None)
        for one in desk.datasets(caller)
    ]
    return visit.page("datasets.html", {"current": "Data sets", "offered": offered})
