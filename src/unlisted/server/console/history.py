"""Past answers: looking at one again costs nothing."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from unlisted.server.console.visits import Signed

router = APIRouter()

_MOST = 50


@router.get("/history")
def show(visit: Signed) -> Response:
    """List the newest answers about all data sets."""
    desk, caller = visit.desk, visit.caller
    names = [one.name for one in desk.datasets(caller)]
    found = [(name, past) for name in names for past in desk.releases(caller, name, most=_MOST)]
    newest = sorted(found, key=lambda one: one[1].time, reverse=True)[:_MOST]
    return visit.page("history.html", {"current": "History", "found": newest, "names": names, "only": None})


@router.get("/history/{name}")
def of_one(visit: Signed, name: str, before: Annotated[int | None, Query(ge=1, le=2**53)] = None) -> Response:
    """List the answers about one data set, a page at a time."""
    desk, caller = visit.desk, visit.caller
    found = desk.releases(caller, name, before, _MOST)
    given = {
        "current": "History",
        "found": [(name, past) for past in found],
        "names": [one.name for one in desk.datasets(caller)],
        "only": name,
        "older": found[-1].entry if len(found) == _MOST else None,
    }
    return visit.page("history.html", given)
