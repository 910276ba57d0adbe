"""The console as one application: its pages, what every answer carries, and what is shown when it fails."""

from __future__ import annotations

from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlencode

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unlisted.errors import (
    AccessError,
    BudgetRefusedError,
    ChargedFailureError,
    FrozenError,
    LedgerError,
    UnlistedError,
)
from unlisted.server.console import admin, answers, ask, asked, budget, sign_in, single_sign_on, streams
from unlisted.server.console.rendering import render
from unlisted.server.console.visits import COOKIE, SIGN_IN, Console, SessionEndedError, Visit, came_from_elsewhere
from unlisted.server.observability import NO_TELEMETRY
from unlisted.tables.failures import OWNER_LOG

PAGES = (sign_in, single_sign_on, ask, asked, answers, budget, admin, streams)

HEADERS = {
    # Nothing runs and nothing is drawn that does not come from here, as a file of its own.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    # Answers are for whoever is signed in, and not for whoever sits down next.
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""What every answer of the console carries."""


def console_app(console: Console) -> FastAPI:
    """Return the pages, to be mounted where the cookies' path shall be."""
    app = FastAPI(openapi_url=None, redirect_slashes=False, telemetry=NO_TELEMETRY)
    app.state.console = console
    for page in PAGES:
        app.include_router(page.router)
    app.mount("/static", StaticFiles(directory=Path(str(files(__package__) / "static"))))
    app.add_middleware(PageMiddleware)
    app.add_exception_handler(UnlistedError, _refused)
    app.add_exception_handler(HTTPException, _not_served)
    app.add_exception_handler(RequestValidationError, _not_served)
    return app


class PageMiddleware:
    """Puts the headers of every page on every answer, and a page in the place of a failure that nobody foresaw."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._app(scope, receive, with_headers)
        except Exception as error:
            if begun:
                raise
            # The cause could quote a row, so it is for the owner alone.
            OWNER_LOG.error("A page failed in a way that nobody foresaw.", exc_info=error)
            page = _page(Request(scope, receive), 500, "The page could not be made; see the log.")
            await page(scope, receive, with_headers)


def _refused(request: Request, error: Exception) -> Response:
    """Say one of our own errors; whoever is not signed in is sent to where one can."""
    status = _status(error)
    if status == HTTPStatus.UNAUTHORIZED:
        return _to_sign_in(request, error)
    response = _page(request, status, str(error))
    if isinstance(error, AccessError) and error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _to_sign_in(request: Request, error: Exception) -> Response:
    """Send whoever is not signed in to where one can; a script that waits for a part of a page is told so."""
    if request.url.path.endswith("/preview"):
        return HTMLResponse(render("session_ended.html", {}), 401)
    if came_from_elsewhere(request) and COOKIE not in request.cookies:
        return Visit(request, request.app.state.console, "").go_on(str(request.url.replace(scheme="", netloc="")))
    after = {}
    if isinstance(error, SessionEndedError):
        after = {"ended": "1", "dataset": error.dataset or "", "draft": error.draft or ""}
    query = urlencode({name: value for name, value in after.items() if value})
    return RedirectResponse(f"{request.scope['root_path']}{SIGN_IN}{'?' if query else ''}{query}", 303)


def _not_served(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _page(request, status, f"{HTTPStatus(status).description}.")


def _status(error: Exception) -> int:
    if isinstance(error, AccessError):
        return error.status
    if isinstance(error, BudgetRefusedError):
        return 403 if isinstance(error, FrozenError) else 402
    if isinstance(error, ChargedFailureError):
        return 500
    return 503 if isinstance(error, LedgerError) else 422


def _page(request: Request, status: int, text: str) -> Response:
    # Of a cookie that cannot be looked up now, the page need not know.
    visit: Visit = getattr(request.state, "visit", None) or Visit(request, request.app.state.console, "")
    return visit.page("wrong.html", {"title": HTTPStatus(status).phrase, "text": text}, status)
