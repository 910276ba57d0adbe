"""Sign in with a key, and out again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from unlisted.errors import AccessError
from unlisted.server.console.visits import SIGN_IN, AnyVisit, Sent, Visit, address_of

router = APIRouter()


@dataclass(frozen=True)
class Arrival:
    """How somebody comes to the form: refused, told to wait, or after a session, with a draft to go back to."""

    wrong: str = ""
    wait: int | None = None
    ended: bool = False
    dataset: str = ""
    draft: str = ""


def _arrival(
    wrong: Literal["key", ""] = "",
    wait: Annotated[int | None, Query(ge=1, le=100_000)] = None,
    ended: bool = False,
    dataset: Annotated[str, Query(max_length=200)] = "",
    draft: Annotated[str, Query(max_length=200)] = "",
) -> Arrival:
    return Arrival(wrong, wait, ended, dataset, draft)


After = Annotated[Arrival, Depends(_arrival)]


@router.get(SIGN_IN)
def show(visit: AnyVisit, after: After) -> Response:
    """Show the form. A browser that comes for the first time gets the cookie that its form needs."""
    if visit.cookie:
        return visit.page("sign_in.html", {"after": after})
    fresh = Visit(visit.request, visit.console, visit.console.sessions.begin(""))
    return fresh.keep(fresh.page("sign_in.html", {"after": after}), fresh.cookie)


@router.post(SIGN_IN)
def sign_in(visit: AnyVisit, sent: Sent) -> Response:
    """Take a key. A new cookie begins with it, so that nobody can have planted the one it is kept in."""
    key, after = sent.one("key"), {name: sent.one(name) for name in ("dataset", "draft") if sent.one(name)}
    try:
        caller = visit.service.enter(key, address_of(visit.request))
    except AccessError as refused:
        wait = refused.retry_after
        # The browser is sent back to the form; the log and the counters say that somebody was refused.
        visit.request.state.refused = refused.status
        response = visit.go("sign-in", **after, **({"wait": str(wait)} if wait else {"wrong": "key"}))
        if wait is not None:
            response.headers["Retry-After"] = str(wait)
        return response
    page = visit.go("")
    if "draft" in after and (note := visit.console.notes.read(caller.key, after["draft"])) is not None:
        # Another key's form is not shown, and not used up.
        page = visit.go("datasets", note["dataset"], "ask", draft=after["draft"])
    return visit.keep(page, visit.console.sessions.begin(key))


@router.post("/sign-out")
def sign_out(visit: AnyVisit, sent: Sent) -> Response:  # noqa: ARG001 - asked for, so that its token is checked
    """End the session, and forget the key."""
    visit.console.sessions.end(visit.cookie)
    return visit.keep(visit.go("sign-in"), visit.console.sessions.begin(""))
