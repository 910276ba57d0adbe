"""One request to the console: who it is from, whether its form is ours, and the page that answers it.

A page's function asks for a `Visit` and gives back what `visit.page(…)` or `visit.go(…)` returns. Whoever is not
signed in is sent to the form for that before the function runs; a form without its token is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from unlisted.errors import AccessError
from unlisted.server.console.forms import Form, read_form
from unlisted.server.console.rendering import render
from unlisted.server.console.sessions import LONGEST, Sessions
from unlisted.server.desk import Desk
from unlisted.server.entrance import caller_gone
from unlisted.server.keys import Caller
from unlisted.server.rates import RateLimit
from unlisted.server.workers import Workers

COOKIE = "unlisted_console"
SIGN_IN = "/sign-in"
TOKEN = "token"  # noqa: S105 - the name of a field

_STALE = "This form is from an older visit. Go back, load the page again and send it from there."


@dataclass(frozen=True)
class Console:
    """What all pages share: the desk, the threads in which questions run, rates, and the cookies."""

    desk: Desk
    workers: Workers
    rates: RateLimit
    sessions: Sessions


@dataclass(frozen=True)
class Visit:
    """A request, the cookie it came with, and who it is from; nobody on the page to sign in."""

    request: Request
    console: Console
    cookie: str
    caller: Caller | None = None

    @property
    def desk(self) -> Desk:
        """The desk that decides what the visitor may do."""
        return self.console.desk

    @property
    def root(self) -> str:
        """Where the console begins, as a browser sees it."""
        return str(self.request.scope.get("root_path", ""))

    def page(self, template: str, given: Mapping[str, Any], status: int = 200) -> Response:
        """Answer with a page."""
        token = self.console.sessions.token(self.cookie)
        guard = Markup('<input type="hidden" name="{}" value="{}">').format(TOKEN, token)
        frame = {"root": self.root, "visitor": self.caller, "guard": guard, "current": None, "wrong": None}
        return HTMLResponse(render(template, {**frame, **given}), status)

    def go(self, *steps: str | int) -> Response:
        """Answer a form by sending the browser on, so that loading that page again sends nothing again."""
        return RedirectResponse("/".join([self.root, *(quote(str(step), safe="") for step in steps)]), 303)

    def keep(self, response: Response, cookie: str) -> Response:
        """Give the browser a cookie that scripts cannot read and that no other site's request carries."""
        response.set_cookie(
            COOKIE,
            cookie,
            max_age=LONGEST,
            path=self.root or "/",
            httponly=True,
            samesite="strict",
            secure=self.desk.config.secure_cookies,
        )
        return response


@dataclass(frozen=True)
class SignedIn(Visit):
    """A request of somebody whose key the desk accepted."""

    caller: Caller

    async def gone(self) -> None:
        """Wait until the visitor has left."""
        await caller_gone(self.request)


def any_visit(request: Request) -> Visit:
    """Return the visit, of whomever. A browser without a cookie of ours gets an empty one."""
    console: Console = request.app.state.console
    cookie = request.cookies.get(COOKIE, "")
    return Visit(request, console, cookie if console.sessions.key(cookie) is not None else "")


async def signed_in(request: Request) -> SignedIn:
    """Return the visit of somebody who is signed in, and count the request."""
    visit = any_visit(request)
    key = visit.console.sessions.key(visit.cookie)
    if not key:
        raise AccessError(401, "Sign in first.")
    caller = visit.desk.remembered(key)
    if caller is None:
        caller = await run_in_threadpool(visit.desk.enter, key, address_of(request))
    request.state.key = caller.key  # for the one line in the log
    visit.console.rates.take(caller.key)
    request.state.visit = found = SignedIn(request, visit.console, visit.cookie, caller)
    return found


async def any_form(request: Request) -> Form:
    """Return what a form sent, if the form is one of ours."""
    form = await read_form(request)
    visit = any_visit(request)
    if not visit.cookie or not visit.console.sessions.is_token(visit.cookie, form.one(TOKEN)):
        raise AccessError(403, _STALE)
    return form


def address_of(request: Request) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client else ""


AnyVisit = Annotated[Visit, Depends(any_visit)]
Signed = Annotated[SignedIn, Depends(signed_in)]
Sent = Annotated[Form, Depends(any_form)]
