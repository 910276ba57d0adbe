"""API v1, data sets: previews, releases, balance, history. Each route is a few lines in front of the desk."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Body, Header, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unlisted.errors import AccessError
from unlisted.ledger.display import balance_as_dict
from unlisted.query.remote_table import STAMP_HEADER
from unlisted.server import wire
from unlisted.server.bodies import RELEASE_TYPES, dataset_body, json_response, past_body, release_response
from unlisted.server.entrance import Name, Who, caller_gone, desk_of, problems_of, router_for
from unlisted.server.keys import Caller
from unlisted.server.questions import Planned
from unlisted.server.repeats import Repeated, Repeats
from unlisted.server.workers import Workers

Entry = Annotated[int, Path(ge=1, le=2**53, description="The number of a release.", examples=[7])]
Question = Annotated[
    wire.QuestionBody,
    Body(openapi_examples={name: {"summary": name, "value": value} for name, value in wire.EXAMPLES.items()}),
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

router = router_for("/v1/datasets", "data sets")


@router.get("", response_model=list[wire.DatasetBody])
def datasets(request: Request, caller: Who) -> Response:
    """List the data sets that the key may see."""
    return json_response([dataset_body(one) for one in desk_of(request).datasets(caller)])


@router.get("/{name}", response_model=wire.DatasetBody)
def dataset(request: Request, caller: Who, name: Name) -> Response:
    """Show a data set's columns and what they hold; never a value."""
    return json_response(dataset_body(desk_of(request).dataset(caller, name)))


@router.post("/{name}/preview", response_model=wire.PreviewBody, responses=problems_of(400, 403))
async def preview(request: Request, caller: Who, name: Name, question: Question) -> Response:
    """Say what a question would cost and how good its answer would be. No data is touched, nothing is charged."""
    planned = await _planned(request, caller, name, question)
    return Response(planned.preview, media_type="application/json")


@router.post(
    "/{name}/releases",
    response_model=wire.ReleaseBody,
    responses=_RELEASED | problems_of(400, 402, 403, 409, 500),
)
async def release(
    request: Request, caller: Who, name: Name, question: Question, idempotency_key: Idempotency = None
) -> Response:
    """Answer a question: the ceiling is reserved, data is touched, what was really used is settled."""
    planned = await _planned(request, caller, name, question)
    if question.plan_sha256 not in (None, planned.digest):
        raise AccessError(409, "The service would run another plan than the one you saw. Preview it anew.")
    again: Repeats = request.app.state.repeats
    accepted, version = request.headers.get("accept", ""), await _version(request, caller, name)
    asked = Repeated(caller.grants[name], planned.digest, idempotency_key, version, accepted)
    if (known := again.get(asked)) is not None:
        return known
    workers: Workers = request.app.state.workers
    answer = await workers.answer(planned.plan, idempotency_key, lambda: caller_gone(request))
    return again.put(asked, await run_in_threadpool(release_response, answer, accepted))


@router.get("/{name}/releases", response_model=list[wire.PastReleaseBody])
def releases(
    request: Request,
    caller: Who,
    name: Name,
    before: Annotated[int | None, Query(ge=1, le=2**53, description="Only those before this entry.")] = None,
    most: Most = 50,
) -> Response:
    """List past releases, newest first: the account's own, or all for an admin."""
    return json_response([past_body(one) for one in desk_of(request).releases(caller, name, before, most)])


@router.get(
    "/{name}/releases/{entry}",
    response_model=wire.ReleaseBody,
    responses=_RELEASED,
)
def past_release(request: Request, caller: Who, name: Name, entry: Entry) -> Response:
    """Return a past release once more, at no cost."""
    found = desk_of(request).release(caller, name, entry)
    return release_response(found.release, request.headers.get("accept", ""))


@router.get("/{name}/releases/{entry}/receipt", response_model=dict[str, Any])
def receipt(request: Request, caller: Who, name: Name, entry: Entry) -> Response:
    """Return a release's receipt: what was promised, to whom and how."""
    return json_response(desk_of(request).release(caller, name, entry).release.receipt())


@router.get("/{name}/balance", response_model=wire.BalanceBody, responses=problems_of(403))
def balance(request: Request, caller: Who, name: Name) -> Response:
    """Show where the key's account stands."""
    return json_response(balance_as_dict(desk_of(request).balance(caller, name)))


@router.get("/{name}/history", response_model=list[wire.EntryBody])
def history(
    request: Request,
    caller: Who,
    name: Name,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only entries after this one.")] = 0,
    most: Annotated[int, Query(ge=1, le=1000, description="At most so many.")] = 200,
) -> Response:
    """Show what happened, oldest first: to the key's account, or all for an admin."""
    found = (one for one in desk_of(request).history(caller, name) if one.number > after)
    return json_response([one.as_dict() for one, _ in zip(found, range(most), strict=False)])


async def _planned(request: Request, caller: Caller, name: str, question: wire.QuestionBody) -> Planned:
    """Plan a question; one that was planned before needs no thread to be planned in."""
    desk, asked = desk_of(request), question.asked()
    known = desk.remembered_plan(caller, name, asked)
    return known if known is not None else await run_in_threadpool(desk.planned, caller, name, asked)


async def _version(request: Request, caller: Caller, name: str) -> str | None:
    """Return the version of the data; one that was read a moment ago needs no thread either."""
    desk = desk_of(request)
    known = desk.remembered_version(name)
    return known[0] if known is not None else await run_in_threadpool(desk.version, caller, name)
