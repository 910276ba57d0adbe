"""Sign in with a key, and out again."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from unlisted.errors import AccessError
from unlisted.server.console.visits import SIGN_IN, AnyVisit, Sent, Visit, address_of

router = APIRouter()


@router.get(SIGN_IN)
def show(visit: AnyVisit) -> Response:
    """Show the form. A browser that comes for the first time gets the cookie that its form needs."""
    return _form(visit)


@router.post(SIGN_IN)
def sign_in(visit: AnyVisit, sent: Sent) -> Response:
    """Take a key. A new cookie begins with it, so that nobody can have planted the one it is kept in."""
    key = sent.one("key")
    try:
        visit.service.enter(key, address_of(visit.request))
    except AccessError as refused:
        response = _form(visit, str(refused), refused.status)
        if refused.retry_after is not None:
            response.headers["Retry-After"] = str(refused.retry_after)
        return response
    return visit.keep(visit.go(""), visit.console.sessions.begin(key))


@router.post("/sign-out")
def sign_out(visit: AnyVisit, sent: Sent) -> Response:  # noqa: ARG001 - asked for, so that its token is checked
    """End the session, and forget the key."""
    visit.console.sessions.end(visit.cookie)
    return visit.keep(visit.go("sign-in"), visit.console.sessions.begin(""))


def _form(visit: Visit, wrong: str | None = None, status: int = 200) -> Response:
    if visit.cookie:
        return visit.page("sign_in.html", {"wrong": wrong}, status)
    fresh = Visit(visit.request, visit.console, visit.console.sessions.begin(""))
    return fresh.keep(fresh.page("sign_in.html", {"wrong": wrong}, status), fresh.cookie)
