"""Sign in with a key, and out again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from unlisted.errors import AccessError
from unlisted.server.auth import Caller
from unlisted.server.console.visits import SIGN_IN, AnyVisit, Sent, Visit, address_of, came_from_elsewhere
from unlisted.server.sign_on.identities import REASONS

router = APIRouter()


@dataclass(frozen=True)
class Arrival:
    """How somebody comes to the form: refused, told to wait, or after a session, with a draft to go back to."""

    wrong: str = ""
    wait: int | None = None
    ended: bool = False
    dataset: str = ""
    draft: str = ""
    refused: str = ""


def _arrival(
    wrong: Literal["key", ""] = "",
    wait: Annotated[int | None, Query(ge=1, le=100_000)] = None,
    ended: bool = False,
    dataset: Annotated[str, Query(max_length=200)] = "",
    draft: Annotated[str, Query(max_length=200)] = "",
    refused: Annotated[str, Query(max_length=200)] = "",
) -> Arrival:
    return Arrival(wrong, wait, ended, dataset, draft, REASONS.get(refused, ""))


After = Annotated[Arrival, Depends(_arrival)]


@router.get(SIGN_IN)
def show(visit: AnyVisit, after: After) -> Response:
    """Show the form. A browser that comes for the first time gets the cookie that its form needs."""
    told = {"after": after, "has_sso": visit.service.people is not None}
    if visit.cookie:
        return visit.page("sign_in.html", told)
    if came_from_elsewhere(visit.request):
        return visit.go_on(str(visit.request.url.replace(scheme="", netloc="")))
    fresh = Visit(visit.request, visit.console, visit.console.sessions.begin(""))
    return fresh.keep(fresh.page("sign_in.html", told), fresh.cookie)


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
    return visit.keep(first_page(visit, caller, after.get("draft", "")), visit.console.sessions.begin(key))


def first_page(visit: Visit, caller: Caller, draft: str) -> Response:
    """Send somebody who signed in on: to the form that was kept, if there is one."""
    note = visit.console.notes.read(caller.key, draft) if draft else None
    if note is None:
        # Another's form is not shown, and not used up.
        return visit.go("")
    return (
        visit.go("admin", note=draft)
        if "verb" in note
        else visit.go("datasets", note["dataset"], "ask", draft=draft)
    )


@router.post("/sign-out")
def sign_out(visit: AnyVisit, sent: Sent) -> Response:  # noqa: ARG001 - asked for, so that its token is checked
    """End the session, and forget the key."""
    visit.service.leave(visit.console.sessions.key(visit.cookie) or "")
    visit.console.sessions.end(visit.cookie)
    return visit.keep(visit.go("sign-in"), visit.console.sessions.begin(""))
