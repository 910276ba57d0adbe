"""Sign in at the company's own OpenID provider: there and back.

What a sign-in needs on its way back lies sealed in a cookie of its own, because the request that the provider
sends back carries no other cookie of ours: the visitor's own goes with requests of this site alone.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import RedirectResponse, Response

from unlisted.errors import AccessError
from unlisted.server.console.sign_in import first_page
from unlisted.server.console.visits import SIGN_IN, AnyVisit, Visit
from unlisted.server.sign_on.identities import SignInRefusedError

router = APIRouter()

COOKIE = "unlisted_sign_on"

_SECONDS = 600
_FIELDS = ("state", "code", "iss", "error")
_STATUS = {"away": 503, "stale": 400}


@router.get(f"{SIGN_IN}/sso")
def leave(visit: AnyVisit, draft: Annotated[str, Query(max_length=200)] = "") -> Response:
    """Send a browser to the provider."""
    people = visit.service.people
    if people is None:
        raise AccessError(404, "Nobody signs in elsewhere for this service. Use a key.")
    try:
        url, kept = people.begin(draft)
    except AccessError as away:
        return _refused(visit, "away", away.status)
    response = RedirectResponse(url, 303)
    _keep(visit, response, kept, _SECONDS)
    return response


@router.get(f"{SIGN_IN}/callback")
def come_back(visit: AnyVisit) -> Response:
    """Take whoever the provider sends back. Their session begins with a cookie that nobody can have planted."""
    people = visit.service.people
    if people is None:
        raise AccessError(404, "Nobody signs in elsewhere for this service. Use a key.")
    sent = visit.request.query_params
    told = {name: sent[name] for name in _FIELDS if name in sent}
    try:
        session, caller, draft = people.finish(visit.request.cookies.get(COOKIE, ""), told)
    except SignInRefusedError as refused:
        return _refused(visit, refused.reason, _STATUS.get(refused.reason, 403))
    visit.request.state.key = caller.key  # for the one line in the log
    response = visit.go_on(first_page(visit, caller, draft).headers["location"])
    _keep(visit, response, "", 0)
    return visit.keep(response, visit.console.sessions.begin(session))


def _refused(visit: Visit, reason: str, status: int) -> Response:
    """Send a browser back to the form, which says why; the log and the counters say that somebody was refused."""
    visit.request.state.refused = status
    response = visit.go("sign-in", refused=reason)
    _keep(visit, response, "", 0)
    return response


def _keep(visit: Visit, response: Response, kept: str, seconds: int) -> None:
    """Give the browser what it brings back: with requests that another site's page leads to, and no others."""
    response.set_cookie(
        COOKIE,
        kept,
        max_age=seconds,
        path=f"{visit.root}{SIGN_IN}",
        httponly=True,
        samesite="lax",
        secure=visit.service.config.secure_cookies,
    )
