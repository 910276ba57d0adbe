"""One request to the console: who it is from, what its form sent, and the page that answers it.

A page's function asks for a `Visit` and gives back what `visit.page(…)` or `visit.go(…)` returns. Whoever is not
signed in is sent to the form for that before the function runs; a form without its token is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import Depends
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from unlisted.errors import AccessError, InvalidArgumentError
from unlisted.server.api.dependencies import within_rate
from unlisted.server.auth import Caller, key_id
from unlisted.server.console.rendering import render
from unlisted.server.console.sessions import LONGEST, Notes, Sessions
from unlisted.server.executor import Executor
from unlisted.server.limits import RateLimit
from unlisted.server.previews import Made, Previews
from unlisted.server.query_service import QueryService
from unlisted.server.sign_on.identities import owner_of

MOST_BYTES = 64 * 1024
"""A question with a long condition has a few hundred."""

_MOST_FIELDS = 200
_CONTENT_TYPE = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Form:
    """The fields of a form in the order they were sent; a field may be sent several times."""

    fields: tuple[tuple[str, str], ...] = ()

    def one(self, name: str, default: str = "") -> str:
        """Return a field without the blanks around it; the default if it was not sent or left empty."""
        return next((value.strip() for key, value in self.fields if key == name and value.strip()), default)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value that a field was sent with."""
        return tuple(value for key, value in self.fields if key == name)


async def read_form(request: Request) -> Form:
    """Read the body of a request as a form."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _CONTENT_TYPE:
        raise InvalidArgumentError("form", "another content type", _CONTENT_TYPE)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise InvalidArgumentError("form", "a longer one", f"at most {MOST_BYTES:,} bytes")
    try:
        fields = parse_qsl(
            body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except ValueError:
        raise InvalidArgumentError("form", "something else", "fields that a browser sends, in UTF-8") from None
    return Form(tuple(fields))


COOKIE = "unlisted_console"
SIGN_IN = "/sign-in"
TOKEN = "token"  # noqa: S105 - the name of a field

_REMEMBERED_AFTER = 7 * 24 * 60 * 60
_NOT_DONE = "Your session ended before this was done. Look at it, and send it again."
_STALE = "This form is from an older visit. Go back, load the page again and send it from there."


@dataclass(frozen=True)
class Console:
    """What all pages share. `running` are the questions that visitors asked here, by key and name."""

    service: QueryService
    executor: Executor
    previews: Previews
    rates: RateLimit
    sessions: Sessions
    notes: Notes
    running: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Visit:
    """A request, the cookie it came with, and who it is from; nobody on the page to sign in."""

    request: Request
    console: Console
    cookie: str
    caller: Caller | None = None

    @property
    def service(self) -> QueryService:
        """The service that decides what the visitor may do."""
        return self.console.service

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

    def go(self, *steps: str | int, **query: str) -> Response:
        """Answer a form by sending the browser on, so that loading that page again sends nothing again."""
        path = "/".join([self.root, *(quote(str(step), safe="") for step in steps)])
        return RedirectResponse(f"{path}?{urlencode(query)}" if query else path, 303)

    def go_on(self, url: str) -> Response:
        """Send the browser on from a page of ours: a request that another site began carries no cookie of ours."""
        return self.page("go_on.html", {"url": url})

    def keep(self, response: Response, cookie: str) -> Response:
        """Give the browser a cookie that scripts cannot read and that no other site's request carries."""
        response.set_cookie(
            COOKIE,
            cookie,
            # Longer than a session: of one that has ended, the page to sign in can say so.
            max_age=LONGEST + _REMEMBERED_AFTER,
            path=self.root or "/",
            httponly=True,
            samesite="strict",
            secure=self.service.config.secure_cookies,
        )
        return response


@dataclass(frozen=True)
class SignedIn(Visit):
    """A request of somebody whose key the service accepted."""

    caller: Caller

    async def planning(self, work: Callable[[], Made], *, is_asked: bool = False) -> Made:
        """Do what needs a plan in a thread for plans, when the visitor's turn comes."""
        return await self.console.previews.run(self.caller.key, work, is_asked=is_asked)


class SessionEndedError(AccessError):
    """A visitor's session is over. `draft` names the form that was sent with it, `dataset` what it is about."""

    def __init__(self, dataset: str | None, draft: str | None) -> None:
        super().__init__(401, "Your session has ended. Sign in again.")
        self.dataset = dataset
        self.draft = draft


def any_visit(request: Request) -> Visit:
    """Return the visit, of whomever. A browser without a cookie of ours gets an empty one."""
    console: Console = request.app.state.console
    cookie = request.cookies.get(COOKIE, "")
    return Visit(request, console, cookie if console.sessions.key(cookie) is not None else "")


async def signed_in(request: Request) -> SignedIn:
    """Return the visit of somebody who is signed in, and count the request."""
    console: Console = request.app.state.console
    cookie = request.cookies.get(COOKIE, "")
    key = console.sessions.remembered(cookie)
    if key is None:
        key = await run_in_threadpool(console.sessions.key, cookie)
    if not key:
        raise await _not_signed_in(request, console, cookie)
    visit = Visit(request, console, cookie)
    caller = visit.service.remembered(key)
    if caller is None:
        caller = await _entered(visit, key)
    request.state.key = caller.key  # for the one line in the log
    await within_rate(console.rates, caller)
    request.state.visit = found = SignedIn(request, visit.console, visit.cookie, caller)
    return found


async def _entered(visit: Visit, key: str) -> Caller:
    """Look up whose key or session a cookie holds. A session that is over may have ended before its cookie."""
    try:
        return await run_in_threadpool(visit.service.enter, key, address_of(visit.request))
    except AccessError as refused:
        if refused.status == HTTPStatus.UNAUTHORIZED and owner_of(key):
            raise await _not_signed_in(visit.request, visit.console, visit.cookie) from None
        raise


async def _not_signed_in(request: Request, console: Console, cookie: str) -> AccessError:
    """Say why somebody is not signed in; a form that was sent after a session ended is kept for its owner."""
    key = console.sessions.ended_key(cookie)
    if key is None:
        return AccessError(401, "Sign in first.")
    dataset, verb, draft = request.path_params.get("name"), request.path_params.get("verb"), None
    if request.method == "POST" and (dataset or verb):
        form = await read_form(request)
        if console.sessions.is_token(cookie, form.one(TOKEN)):
            fields = [one for one in form.fields if one[0] != TOKEN]
            note: dict[str, Any] = {"dataset": dataset, "draft": fields, "state": "draft"}
            if verb is not None:
                note = {"verb": verb, "fields": dict(fields), "refused": _NOT_DONE}
            draft = await run_in_threadpool(console.notes.keep, key_id(key) or owner_of(key), note)
    return SessionEndedError(dataset, draft)


async def any_form(request: Request) -> Form:
    """Return what a form sent, if the form is one of ours."""
    form = await read_form(request)
    visit = await run_in_threadpool(any_visit, request)
    if not visit.cookie or not visit.console.sessions.is_token(visit.cookie, form.one(TOKEN)):
        raise AccessError(403, _STALE)
    return form


def address_of(request: Request) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client else ""


def came_from_elsewhere(request: Request) -> bool:
    """Return whether another site's page led here, so that the browser left its cookie out."""
    return request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site"


AnyVisit = Annotated[Visit, Depends(any_visit)]
Signed = Annotated[SignedIn, Depends(signed_in)]
Sent = Annotated[Form, Depends(any_form)]
