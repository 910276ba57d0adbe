"""The whole service as one ASGI application: the API, the console, health and metrics behind one middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from unlisted.ledger.ledger import Ledger
from unlisted.server.api import problems
from unlisted.server.api.dependencies import Who
from unlisted.server.api.routes import api_description, datasets_router, streams_router
from unlisted.server.api.schemas import json_response
from unlisted.server.cache import AnswerCache
from unlisted.server.config import Config
from unlisted.server.console.app import console_app
from unlisted.server.console.notes import Notes
from unlisted.server.console.sessions import Sessions
from unlisted.server.console.visits import Console
from unlisted.server.executor import Executor
from unlisted.server.limits import RateLimit
from unlisted.server.middleware import RequestMiddleware
from unlisted.server.observability import NO_TELEMETRY, Metrics, Readiness
from unlisted.server.previews import Previews
from unlisted.server.query_service import QueryService
from unlisted.server.shared_state import make_tables
from unlisted.server.startup import open_datasets

CONSOLE = "/console"


def make_app(config: Config, ledger: Ledger) -> ASGIApp:
    """Put a service together. The ledger stays the caller's to close."""
    make_tables(ledger.store)
    open_datasets(config, ledger)
    ledger.forfeit_abandoned()
    metrics = Metrics()
    app = FastAPI(openapi_url=None, lifespan=_life, telemetry=NO_TELEMETRY)
    service, executor, previews = QueryService(config, ledger), Executor(config.limits), Previews(config.limits)
    rates = RateLimit(config.limits.requests_per_minute, ledger.store)
    app.state.service, app.state.executor, app.state.previews = service, executor, previews
    app.state.rates, app.state.metrics = rates, metrics
    app.state.repeats = AnswerCache(padded=config.limits.pad_to is not None)
    app.state.readiness = Readiness(service.check)
    problems.install(app)
    app.include_router(datasets_router)
    app.include_router(streams_router)
    app.add_api_route("/v1/openapi.json", openapi, include_in_schema=False)
    app.add_api_route("/health", health, include_in_schema=False)
    app.add_api_route("/ready", ready, include_in_schema=False)
    app.add_api_route("/metrics", counters, include_in_schema=False)
    app.add_api_route("/", front_page, include_in_schema=False)
    sessions = Sessions(config.secret, ledger.store)
    notes = Notes(ledger.store, sessions)
    app.mount(CONSOLE, console_app(Console(service, executor, previews, rates, sessions, notes)))
    return RequestMiddleware(app, metrics, config.limits.body_bytes)


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    yield
    app.state.previews.close()
    await app.state.executor.close()


async def health() -> Response:
    """Say that the process runs. No key is needed."""
    return json_response({"status": "ok"})


async def front_page(request: Request) -> Response:
    """Send a browser to the console."""
    return RedirectResponse(f"{request.scope.get('root_path', '')}{CONSOLE}/", 303)


async def ready(request: Request) -> Response:
    """Say whether the ledger can be written to and the sources be reached; why not, is in the owner's log."""
    is_ready = await request.app.state.readiness.is_ready()
    return json_response({"status": "ready" if is_ready else "not ready"}, 200 if is_ready else 503)


async def counters(request: Request, caller: Who) -> Response:
    """Show the counters, to an admin's key."""
    request.app.state.service.require_admin(caller)
    return PlainTextResponse(request.app.state.metrics.text(), media_type="text/plain; version=0.0.4")


async def openapi() -> Response:
    """Return the description of the API."""
    return json_response(api_description())
