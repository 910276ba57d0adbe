"""What every route of the API depends on: who asks, how often, and how refusals are described."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unlisted.errors import AccessError, InvalidArgumentError
from unlisted.server.api.problems import MEDIA_TYPE
from unlisted.server.auth import Caller
from unlisted.server.limits import RateLimit
from unlisted.server.query_service import QueryService

_BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A key from `unlisted key create`, or a token of the sign-on service where one is named.",
)


async def require_caller(request: Request) -> Caller:
    """Say who asks, from the key in the Authorization header, and count the request, once."""
    known: Caller | None = getattr(request.state, "caller", None)
    if known is not None:
        return known
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key:
        raise AccessError(401, "A key is needed: Authorization: Bearer ul_…")
    service = service_of(request)
    address = request.client.host if request.client else ""
    # A key that was looked up a moment ago needs no thread to wait for the ledger in.
    caller = service.remembered(key)
    if caller is None:
        caller = await run_in_threadpool(service.enter, key, address)
    request.state.key = caller.key
    await within_rate(request.app.state.rates, caller)
    request.state.caller = caller
    return caller


async def within_rate(rates: RateLimit, caller: Caller) -> None:
    """Count a request of a key, and refuse it if there were too many; most need not ask the store for that."""
    if not rates.take(caller.key):
        await run_in_threadpool(rates.wait_for, caller.key)


Who = Annotated[Caller, Depends(require_caller)]
Name = Annotated[str, Path(max_length=200, description="The data set's name.", examples=["searches"])]


def problems_of(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how the OpenAPI document describes refusals of these statuses."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _SAID[status], "content": content} for status in statuses}


_SAID = {
    400: "The body is not JSON.",
    401: "No key, or one that is not known.",
    402: "The question does not fit into what is left. Nothing was charged.",
    403: "The key has no account here, or is not an admin's; or too many questions failed; the owner must look.",
    404: "Not there, or not for this key.",
    409: "The plan is not the one that `plan_sha256` names. Nothing was charged.",
    413: "The body is too long.",
    422: "The question is not allowed, with what is allowed. Nothing was charged.",
    429: "Too many requests, or too many wrong keys. Retry-After says how long to wait.",
    500: "Failed after data was touched: charged, whatever the cause.",
    503: "The ledger cannot be reached, or too many questions wait. `charged` is null where nobody knows.",
}


def only_known_query(request: Request) -> None:
    """Refuse a query parameter that the route does not have: a misspelt one must not be taken for none."""
    route = request.scope["route"]
    known = sorted(parameter.alias for parameter in route.dependant.query_params)
    for name in request.query_params:
        if name not in known:
            raise InvalidArgumentError("query", name, f"one of: {', '.join(known) or 'none here'}")


class KeyFirst(APIRoute):
    """A route that asks for the key before it reads the body: without one nothing else is said."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def with_a_key(request: Request) -> Response:
            await require_caller(request)
            return await answer(request)

        return with_a_key


class AdminFirst(KeyFirst):
    """The same, for an admin's key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        answer = super().get_route_handler()

        async def with_an_admins_key(request: Request) -> Response:
            service_of(request).require_admin(await require_caller(request))
            return await answer(request)

        return with_an_admins_key


def router_for(prefix: str, tag: str, route_class: type[APIRoute] = KeyFirst) -> APIRouter:
    """Return a router for routes that need a key."""
    refusals = problems_of(401, 404, 413, 422, 429, 503)
    dependencies = [Depends(_BEARER), Depends(only_known_query)]
    return APIRouter(
        prefix=prefix, tags=[tag], dependencies=dependencies, responses=refusals, route_class=route_class
    )


def service_of(request: Request) -> QueryService:
    """Return the rules that a request is under."""
    service: QueryService = request.app.state.service
    return service


async def caller_gone(request: Request) -> None:
    """Wait until the caller has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
