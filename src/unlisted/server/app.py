"""The whole service as one ASGI application: the API, the console, health and metrics behind one middleware."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp

from unlisted.errors import MissingExtraError
from unlisted.ledger.ledger import Ledger
from unlisted.server.api import problems
from unlisted.server.api.admin import admin_router
from unlisted.server.api.dependencies import Who
from unlisted.server.api.routes import api_description, datasets_router, streams_router
from unlisted.server.api.schemas import json_response
from unlisted.server.cache import AnswerCache
from unlisted.server.config import Config
from unlisted.server.console.app import console_app
from unlisted.server.console.sessions import Notes, Sessions
from unlisted.server.console.visits import Console
from unlisted.server.executor import Executor
from unlisted.server.limits import RateLimit
from unlisted.server.middleware import RequestMiddleware
from unlisted.server.observability import NO_TELEMETRY, Metrics, Readiness, gauges
from unlisted.server.previews import Previews
from unlisted.server.query_service import QueryService
from unlisted.server.shared_state import make_tables
from unlisted.server.startup import open_datasets

if TYPE_CHECKING:
    from unlisted.server.sign_on.people import People  # needs an extra

CONSOLE = "/console"


def make_app(config: Config, ledger: Ledger, readiness: Readiness | None = None) -> ASGIApp:
    """Put a service together. The ledger stays the caller's to close, and `readiness` to lower before it stops."""
    make_tables(ledger.store)
    open_datasets(config, ledger)
    ledger.forfeit_abandoned()
    metrics = Metrics()
    app = FastAPI(openapi_url=None, lifespan=_life, telemetry=NO_TELEMETRY)
    sessions = Sessions(config.secret, ledger.store)
    service = QueryService(config, ledger, _people(config, ledger, sessions))
    executor, previews = Executor(config.limits), Previews(config.limits)
    rates = RateLimit(config.limits.requests_per_minute, ledger.store)
    app.state.service, app.state.executor, app.state.previews = service, executor, previews
    app.state.rates, app.state.metrics = rates, metrics
    app.state.repeats = AnswerCache(padded=config.limits.pad_to is not None)
    app.state.readiness = readiness or Readiness()
    app.state.readiness.check = service.check
    problems.install(app)
    app.include_router(datasets_router)
    app.include_router(streams_router)
    app.include_router(admin_router)
    app.add_api_route("/v1/openapi.json", openapi, include_in_schema=False)
    app.add_api_route("/health", health, include_in_schema=False)
    app.add_api_route("/ready", ready, include_in_schema=False)
    app.add_api_route("/metrics", counters, include_in_schema=False)
    app.add_api_route("/", front_page, include_in_schema=False)
    notes = Notes(ledger.store, sessions)
    app.mount(CONSOLE, console_app(Console(service, executor, previews, rates, sessions, notes)))
    return RequestMiddleware(app, metrics, config.limits.body_bytes)


def _people(config: Config, ledger: Ledger, sessions: Sessions) -> People | None:
    """Return whoever may sign in elsewhere, if the configuration says where."""
    if config.sso is None:
        return None
    try:
        from unlisted.server.sign_on.people import People  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise MissingExtraError("Single sign-on", "Authlib", "sso") from None
    return People(config.sso, ledger.store, (sessions.sealed, sessions.unsealed))


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
    state = request.app.state
    state.service.require_admin(caller)
    datasets = await run_in_threadpool(state.service.ledger.datasets)
    watched = gauges(datasets, waiting=state.executor.waiting, running=state.executor.running)
    return PlainTextResponse(state.metrics.text() + watched, media_type="text/plain; version=0.0.4")


async def openapi() -> Response:
    """Return the description of the API."""
    return json_response(api_description())
