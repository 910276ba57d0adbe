"""API v1, streams: the latest release and a running chart. Looking costs nothing: a stream was paid for before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from unlisted.errors import AccessError
from unlisted.release.charts import chart_bytes
from unlisted.server import wire
from unlisted.server.bodies import json_response, rows_body
from unlisted.server.config import StreamOffer
from unlisted.server.entrance import Name, Who, desk_of, router_for
from unlisted.streams.stream import Stream

router: APIRouter = router_for("/v1/streams", "streams")


@router.get("", response_model=list[wire.StreamBody])
def streams(request: Request, caller: Who) -> Response:
    """List the streams of the data sets that the key may see."""
    desk = desk_of(request)
    return json_response([_about(one, desk.running(one)) for one in desk.streams(caller)])


@router.get("/{name}", response_model=wire.StreamReleaseBody)
def stream(request: Request, caller: Who, name: Name) -> Response:
    """Show a stream with its latest release; there is none before the first is due."""
    desk = desk_of(request)
    offer = desk.stream(caller, name)
    opened = desk.running(offer)
    latest = _latest(opened)
    release = None if latest == 0 else rows_body(opened.release(latest))
    return json_response({**_about(offer, opened), "latest": latest, "release": release})


@router.get(
    "/{name}/chart",
    response_class=Response,
    responses={200: {"content": {"image/svg+xml": {}}, "description": "SVG"}},
)
def chart(request: Request, caller: Who, name: Name) -> Response:
    """Draw the running counts of the largest items, as SVG."""
    desk = desk_of(request)
    opened = desk.running(desk.stream(caller, name))
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
