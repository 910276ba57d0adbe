"""The whole service as one ASGI application: the API, the console, health and metrics behind one gate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from unlisted import __version__
from unlisted.errors import UnlistedError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import forfeit_abandoned
from unlisted.server import dataset_routes, problems, stream_routes, wire
from unlisted.server.bodies import json_response
from unlisted.server.config import Config
from unlisted.server.console.app import console_app
from unlisted.server.desk import Desk
from unlisted.server.entrance import Who
from unlisted.server.gate import Gate
from unlisted.server.opening import open_datasets
from unlisted.server.rates import RateLimit
from unlisted.server.repeats import Repeats
from unlisted.server.watch import NO_TELEMETRY, Metrics
from unlisted.server.workers import Workers
from unlisted.tables.failures import OWNER_LOG

_ABOUT = (
    "Private counts when nobody has the list. Previews touch no data; a release is charged to the account that "
    "the key's grant names, its ceiling first."
)

CONSOLE = "/console"


def make_app(config: Config, ledger: Ledger) -> ASGIApp:
    """Put a service together. The ledger stays the caller's to close."""
    open_datasets(config, ledger)
    forfeit_abandoned(ledger)
    metrics = Metrics()
    app = FastAPI(
        title="unlisted",
        version=__version__,
        openapi_url=None,
        lifespan=_life,
        telemetry=NO_TELEMETRY,
    )
    desk, workers = Desk(config, ledger), Workers(config.limits)
    rates = RateLimit(config.limits.requests_per_minute)
    app.state.desk, app.state.workers, app.state.rates, app.state.metrics = desk, workers, rates, metrics
    app.state.repeats = Repeats(padded=config.limits.pad_to is not None)
    problems.install(app)
    app.include_router(dataset_routes.router)
    app.include_router(stream_routes.router)
    app.add_api_route("/v1/openapi.json", openapi, include_in_schema=False)
    app.add_api_route("/health", health, include_in_schema=False)
    app.add_api_route("/ready", ready, include_in_schema=False)
    app.add_api_route("/metrics", counters, include_in_schema=False)
    app.add_api_route("/", front_page, include_in_schema=False)
    app.mount(CONSOLE, console_app(desk, workers, rates))
    return Gate(app, metrics, config.limits.body_bytes)


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    yield
    await app.state.workers.close()


async def health() -> Response:
    """Say that the process runs. No key is needed."""
    return json_response({"status": "ok"})


async def front_page(request: Request) -> Response:
    """Send a browser to the console."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}{CONSOLE}/", 303)


async def ready(request: Request) -> Response:
    """Say whether the ledger and the sources can be reached; why not, is in the owner's log."""
    try:
        await run_in_threadpool(request.app.state.desk.check)
    except UnlistedError as reason:
        OWNER_LOG.error("The service is not ready: %s", reason)
        return json_response({"status": "not ready"}, 503)
    return json_response({"status": "ready"})


async def counters(request: Request, caller: Who) -> Response:
    """Show the counters, to an admin's key."""
    request.app.state.desk.require_admin(caller)
    return PlainTextResponse(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


async def openapi(request: Request) -> Response:
    """Return the description of the API."""
    return json_response(described(request.app))


def described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, in which every refusal has one form."""
    if app.openapi_schema is None:
        found = get_openapi(title=app.title, version=app.version, description=_ABOUT, routes=app.routes)
        schemas = found["components"]["schemas"]
        schemas["Problem"] = wire.Problem.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        app.openapi_schema = found
    return app.openapi_schema
