"""Refusals as `application/problem+json`: what is wrong, what to do next, and whether it was charged.

`charged` is true or false, and null where nobody knows. The words are those of the errors themselves, which never
quote data. Whatever nobody foresaw becomes one fixed sentence, and its cause goes to the owner's log.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from unlisted.errors import (
    AccessError,
    BudgetRefusedError,
    ChargedFailureError,
    FrozenError,
    InvalidArgumentError,
    LedgerError,
    UncertainError,
    UnlistedError,
)
from unlisted.tables.failures import OWNER_LOG

MEDIA_TYPE = "application/problem+json"
UNFORESEEN = "The request could not be answered; see the log. A question may have been charged."


def problem(status: int, kind: str, detail: str, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """Return a problem as a response."""
    body = {
        "type": f"urn:unlisted:problem:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "charged": False,
        **more,
    }
    return Response(json.dumps(body), status, headers, MEDIA_TYPE)


def of_error(error: UnlistedError) -> Response:
    """Say one of our own errors."""
    detail = str(error)
    if isinstance(error, AccessError):
        headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        if error.status == HTTPStatus.UNAUTHORIZED:
            headers["WWW-Authenticate"] = "Bearer"
        return problem(error.status, _ACCESS.get(error.status, "denied"), detail, headers)
    if isinstance(error, FrozenError):
        return problem(403, "frozen", detail)
    if isinstance(error, BudgetRefusedError):
        return problem(402, "budget-refused", detail)
    if isinstance(error, ChargedFailureError):
        return problem(500, "charged-failure", detail, charged=True)
    if isinstance(error, UncertainError):
        # Neither true nor false. Sent again under its Idempotency-Key, the question tells what became of it.
        return problem(503, "charge-unknown", detail, {"Retry-After": "1"}, charged=None)
    if isinstance(error, LedgerError):
        return problem(503, "ledger-unavailable", detail, {"Retry-After": "1"})
    if isinstance(error, InvalidArgumentError):
        return problem(422, "invalid-argument", detail, argument=error.argument)
    return problem(422, "invalid-argument", detail)


def install(app: FastAPI) -> None:
    """Let an application say all its errors this way."""
    app.add_exception_handler(UnlistedError, _own)
    app.add_exception_handler(RequestValidationError, _unreadable)
    app.add_exception_handler(HTTPException, _usual)
    app.add_exception_handler(Exception, _unforeseen)


_ACCESS = {
    401: "key-needed",
    403: "not-allowed",
    404: "not-found",
    409: "another-plan",
    413: "too-large",
    429: "too-many-requests",
    503: "busy",
}


async def _own(_: Request, error: Exception) -> Response:
    return of_error(error) if isinstance(error, UnlistedError) else await _unforeseen(_, error)


async def _unreadable(_: Request, error: Exception) -> Response:
    found = error.errors() if isinstance(error, RequestValidationError) else ()
    # Where and what, never the input itself: it may be long, and is the caller's own.
    where = [{"where": ".".join(map(str, one["loc"])), "message": str(one["msg"])} for one in found][:20]
    return problem(422, "invalid-request", "The request is not of the form that the API describes.", errors=where)


async def _usual(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    return problem(status, _ACCESS.get(status, "invalid-request"), HTTPStatus(status).description, headers)


async def _unforeseen(_: Request, error: Exception) -> Response:
    OWNER_LOG.error("A request failed in a way that nobody foresaw.", exc_info=error)
    return problem(500, "failed", UNFORESEEN, charged=None)
