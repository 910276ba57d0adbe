"""API v1: data sets (previews, releases, balance, history) and streams, and the OpenAPI document of both.

Each route is a few lines in front of the query service.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import Body, Header, Query, Request
from fastapi import Path as PathParameter
from fastapi.openapi.utils import get_openapi
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unlisted import __version__
from unlisted.errors import AccessError
from unlisted.ledger.display import balance_as_dict
from unlisted.ledger.policy import foreseen_refusal, today
from unlisted.ledger.rows import Page
from unlisted.ledger.state import DatasetState
from unlisted.query.remote_table import STAMP_HEADER
from unlisted.release.charts import chart_bytes
from unlisted.server.api import schemas
from unlisted.server.api.admin import admin_router
from unlisted.server.api.dependencies import Name, Who, caller_gone, problems_of, router_for, service_of
from unlisted.server.api.schemas import (
    RELEASE_TYPES,
    dataset_body,
    json_response,
    past_body,
    release_response,
    rows_body,
)
from unlisted.server.auth import Caller
from unlisted.server.cache import AnswerCache, AnswerKey
from unlisted.server.config import StreamOffer
from unlisted.server.executor import Executor
from unlisted.server.planning import Planned
from unlisted.server.previews import Previews
from unlisted.streams.stream import Stream

Entry = Annotated[int, PathParameter(ge=1, le=2**53, description="The number of a release.", examples=[7])]
Question = Annotated[
    schemas.QuestionBody,
    Body(openapi_examples={name: {"summary": name, "value": value} for name, value in schemas.EXAMPLES.items()}),
]
Most = Annotated[int, Query(ge=1, le=200, description="At most so many.")]
Idempotency = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern=r"^[!-~]{1,200}$",
        description="A name for this one request: sent again with it, the first answer comes back at no cost.",
        examples=["3f0c9d5e-monday-report"],
    ),
]
_RELEASED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The release, in the format that Accept asks for.",
        "headers": {STAMP_HEADER: {"description": "The ledger's entry, as JSON.", "schema": {"type": "string"}}},
        "content": {
            kind: {} if kind == "application/json" else {"schema": {"type": "string", "format": "binary"}}
            for kind in RELEASE_TYPES
        },
    }
}

datasets_router = router_for("/v1/datasets", "data sets")


@datasets_router.get("", response_model=list[schemas.DatasetBody])
def datasets(request: Request, caller: Who) -> Response:
    """List the data sets that the key may see."""
    return json_response([dataset_body(one) for one in service_of(request).datasets(caller)])


@datasets_router.get("/{name}", response_model=schemas.DatasetBody)
def dataset(request: Request, caller: Who, name: Name) -> Response:
    """Show a data set's columns and what they hold; never a value."""
    return json_response(dataset_body(service_of(request).dataset(caller, name)))


@datasets_router.post("/{name}/preview", response_model=schemas.PreviewBody, responses=problems_of(400, 403))
async def preview(request: Request, caller: Who, name: Name, question: Question) -> Response:
    """Say what a question would cost and how good its answer would be. No data is touched, nothing is charged."""
    planned = await _planned(request, caller, name, question)
    refusal = foreseen_refusal(await _state(request, caller, name), planned.charge, today())
    preview = planned.preview if refusal is None else planned.refused(refusal)
    return Response(preview, media_type="application/json")


@datasets_router.post(
    "/{name}/releases",
    response_model=schemas.ReleaseBody,
    responses=_RELEASED | problems_of(400, 402, 403, 409, 500),
)
async def release(
    request: Request, caller: Who, name: Name, question: Question, idempotency_key: Idempotency = None
) -> Response:
    """Answer a question: the ceiling is reserved, data is touched, what was really used is settled."""
    planned = (await _planned(request, caller, name, question, is_asked=True)).named(question.plan_sha256)
    if planned is None:
        raise AccessError(409, "The service would run a different plan from the one you saw. Preview it again.")
    again: AnswerCache = request.app.state.repeats
    accepted, version = request.headers.get("accept", ""), (await _state(request, caller, name)).version
    asked = AnswerKey(caller.grants[name], planned.digest, idempotency_key, version, accepted)
    if (known := again.get(asked)) is not None:
        return known
    executor: Executor = request.app.state.executor
    answer = await executor.answer(
        service_of(request).asked_by(caller, planned.plan), idempotency_key, lambda: caller_gone(request)
    )
    return again.put(asked, await run_in_threadpool(release_response, answer, accepted))


@datasets_router.get("/{name}/releases", response_model=list[schemas.PastReleaseBody])
def releases(
    request: Request,
    caller: Who,
    name: Name,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Only those before this entry.")] = None,
    most: Most = 50,
) -> Response:
    """List past releases, newest first: the account's own, or all for an admin."""
    return json_response([past_body(one) for one in service_of(request).releases(caller, name, before, most)])


@datasets_router.get(
    "/{name}/releases/{entry}",
    response_model=schemas.ReleaseBody,
    responses=_RELEASED,
)
def past_release(request: Request, caller: Who, name: Name, entry: Entry) -> Response:
    """Return a past release once more, at no cost."""
    found = service_of(request).release(caller, name, entry)
    return release_response(found.release, request.headers.get("accept", ""))


@datasets_router.get("/{name}/releases/{entry}/receipt", response_model=dict[str, Any])
def receipt(request: Request, caller: Who, name: Name, entry: Entry) -> Response:
    """Return a release's receipt: the guarantee, the plan and who paid."""
    return json_response(service_of(request).release(caller, name, entry).release.receipt())


@datasets_router.get("/{name}/balance", response_model=schemas.BalanceBody, responses=problems_of(403))
def balance(request: Request, caller: Who, name: Name) -> Response:
    """Show where the key's account stands."""
    return json_response(balance_as_dict(service_of(request).balance(caller, name)))


@datasets_router.get("/{name}/history", response_model=list[schemas.EntryBody])
def history(
    request: Request,
    caller: Who,
    name: Name,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only entries after this one.")] = 0,
    most: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 200,
) -> Response:
    """Show what happened, oldest first: to the key's account, or all for an admin."""
    found = service_of(request).history(caller, name, Page(most, after))
    return json_response([one.as_dict() for one in found])


async def _planned(
    request: Request, caller: Caller, name: str, question: schemas.QuestionBody, *, is_asked: bool = False
) -> Planned:
    """Plan a question in a thread for that; one that was planned before needs none."""
    service, asked = service_of(request), question.asked()
    known = service.remembered_plan(caller, name, asked)
    if known is not None:
        return known
    previews: Previews = request.app.state.previews
    return await previews.run(caller.key, lambda: service.planned(caller, name, asked), is_asked=is_asked)


async def _state(request: Request, caller: Caller, name: str) -> DatasetState:
    """Return where a data set stands; what was read a moment ago needs no thread either."""
    service = service_of(request)
    known = service.remembered_state(name)
    return known if known is not None else await run_in_threadpool(service.state, caller, name)


streams_router = router_for("/v1/streams", "streams")


@streams_router.get("", response_model=list[schemas.StreamBody])
def streams(request: Request, caller: Who) -> Response:
    """List the streams of the data sets that the key may see."""
    service = service_of(request)
    return json_response([_about(one, service.running(one)) for one in service.streams(caller)])


@streams_router.get("/{name}", response_model=schemas.StreamReleaseBody)
def stream(request: Request, caller: Who, name: Name) -> Response:
    """Show a stream with its latest release; there is none before the first is due."""
    service = service_of(request)
    offer = service.stream(caller, name)
    opened = service.running(offer)
    latest = _latest(opened)
    release = None if latest == 0 else rows_body(opened.release(latest))
    return json_response({**_about(offer, opened), "latest": latest, "release": release})


@streams_router.get(
    "/{name}/chart",
    response_class=Response,
    responses={200: {"content": {"image/svg+xml": {}}, "description": "SVG"}},
)
def chart(request: Request, caller: Who, name: Name) -> Response:
    """Draw the running counts of the largest items, as SVG."""
    service = service_of(request)
    opened = service.running(service.stream(caller, name))
    if _latest(opened) == 0:
        raise AccessError(404, "The stream has no release yet.")
    return Response(chart_bytes(opened.chart(), Path("chart.svg")), media_type="image/svg+xml")


def _latest(stream: Stream) -> int:
    """Return the last round that has a release; 0 before the first."""
    return stream.round - stream.round % stream.settings.release_every


def _about(offer: StreamOffer, stream: Stream) -> dict[str, Any]:
    return {
        "name": offer.name,
        "description": offer.description,
        "dataset": offer.dataset,
        "round": stream.round,
        "rounds": stream.settings.rounds,
        "release_every": stream.settings.release_every,
    }


_ABOUT = (
    "Private counts when nobody has the list. Previews touch no data; a release is charged to the account that "
    "the key's grant names, its ceiling first."
)


@cache
def api_description() -> dict[str, Any]:
    """Return the document as plain values."""
    routes = [*datasets_router.routes, *streams_router.routes, *admin_router.routes]
    found = get_openapi(title="unlisted", version=__version__, description=_ABOUT, routes=routes)
    described = found["components"]["schemas"]
    described["Problem"] = schemas.Problem.model_json_schema()
    for unused in ("HTTPValidationError", "ValidationError"):
        described.pop(unused, None)
    return found
