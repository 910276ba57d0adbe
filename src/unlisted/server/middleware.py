"""What every request passes before it meets a route: a limit on its size, safe headers, one line in the log."""

from __future__ import annotations

import time

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unlisted.server.api.problems import UNFORESEEN, problem
from unlisted.server.observability import Metrics, known_method, log_request

SAFE_HEADERS = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
"""What a response says unless its route says otherwise."""


class RequestMiddleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics, body_bytes: int) -> None:
        self._app = app
        self._metrics = metrics
        self._body_bytes = body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        came, seen = time.time(), {"status": 0, "body": 0}

        async def limited() -> Message:
            message = await receive()
            seen["body"] += len(message.get("body", b""))
            if seen["body"] > self._body_bytes:
                raise HTTPException(413)
            return message

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen["status"] = message["status"]
                said = {name for name, _ in message["headers"]}
                missing = [(name, value) for name, value in SAFE_HEADERS.items() if name not in said]
                message = {**message, "headers": [*message["headers"], *missing]}
            await send(message)

        try:
            if _declared(scope) > self._body_bytes:
                await problem(413, "too-large", f"At most {self._body_bytes} bytes.")(scope, receive, told)
            else:
                await self._app(scope, limited, told)
        except Exception:
            if not seen["status"]:
                await problem(500, "failed", UNFORESEEN, charged=None)(scope, receive, told)
        finally:
            # The pattern of a route, never the path that somebody asked for.
            method, route = known_method(scope["method"]), getattr(scope.get("route"), "path", "unknown")
            state = scope.get("state", {})
            status = state.get("refused", seen["status"])
            self._metrics.count(method, route, status)
            log_request(came, method, route, status, state.get("key"))


def _declared(scope: Scope) -> int:
    """Return how long the body claims to be."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
