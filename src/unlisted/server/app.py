"""The whole service as one ASGI application: the API, the console, health and metrics behind one gate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from unlisted.errors import UnlistedError
from unlisted.ledger.ledger import Ledger
from unlisted.server import dataset_routes, problems, stream_routes
from unlisted.server.bodies import json_response
from unlisted.server.config import Config
from unlisted.server.console.app import console_app
from unlisted.server.description import api_description
from unlisted.server.desk import REMEMBERED_SECONDS, Desk
from unlisted.server.entrance import Who
from unlisted.server.gate import Gate
from unlisted.server.memory import Memory
from unlisted.server.opening import open_datasets
from unlisted.server.rates import RateLimit
from unlisted.server.repeats import Repeats
from unlisted.server.watch import NO_TELEMETRY, Metrics
from unlisted.server.workers import Workers
from unlisted.tables.failures import OWNER_LOG

CONSOLE = "/console"


def make_app(config: Config, ledger: Ledger) -> ASGIApp:
    """Put a service together. The ledger stays the caller's to close."""
    open_datasets(config, ledger)
    ledger.forfeit_abandoned()
    metrics = Metrics()
    app = FastAPI(openapi_url=None, lifespan=_life, telemetry=NO_TELEMETRY)
    desk, workers = Desk(config, ledger), Workers(config.limits)
    rates = RateLimit(config.limits.requests_per_minute)
    app.state.desk, app.state.workers, app.state.rates, app.state.metrics = desk, workers, rates, metrics
    app.state.repeats = Repeats(padded=config.limits.pad_to is not None)
    app.state.checked = Memory(1, REMEMBERED_SECONDS)
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
    # Whoever has no key must not keep the ledger busy: it is asked once a second at most, or nearly.
    checked: Memory[None, bool] = request.app.state.checked
    is_ready = checked.get(None)
    if is_ready is None:
        is_ready = checked.put(None, await run_in_threadpool(_is_ready, request.app.state.desk))
    return json_response({"status": "ready" if is_ready else "not ready"}, 200 if is_ready else 503)


def _is_ready(desk: Desk) -> bool:
    try:
        desk.check()
    except UnlistedError as reason:
        OWNER_LOG.error("The service is not ready: %s", reason)
        return False
    return True


async def counters(request: Request, caller: Who) -> Response:
    """Show the counters, to an admin's key."""
    request.app.state.desk.require_admin(caller)
    return PlainTextResponse(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


async def openapi() -> Response:
    """Return the description of the API."""
    return json_response(api_description())
