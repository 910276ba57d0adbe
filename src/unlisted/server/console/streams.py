"""Streams: running counts, as of the last round."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from unlisted.errors import InvalidArgumentError
from unlisted.server.config import StreamOffer
from unlisted.server.console.answers import first_rows
from unlisted.server.console.charts import picture
from unlisted.server.console.visits import Signed
from unlisted.server.executor import source_refused
from unlisted.streams.stream import Stream

router = APIRouter()


@router.get("/streams")
def show(visit: Signed) -> Response:
    """List the streams."""
    found = [(offer, _opened(offer)) for offer in visit.service.streams(visit.caller)]
    return visit.page("streams.html", {"current": "Streams", "found": found})


@router.get("/streams/{name}")
def of_one(visit: Signed, name: str) -> Response:
    """Show a stream: its running chart, and its last release."""
    offer = visit.service.stream(visit.caller, name)
    stream = _opened(offer)
    last = stream.round - stream.round % stream.settings.release_every
    release = stream.release(last) if last else None
    given = {
        "current": "Streams",
        "offer": offer,
        "stream": stream,
        "last": last,
        "release": release,
        "noise": stream.settings.mechanism.noise_after(stream.settings.in_window(max(1, last))).text,
        "rows": first_rows(release) if release else [],
        "chart": picture(stream.chart, _said(name), slim=True) if release else None,
    }
    return visit.page("stream.html", given)


def _opened(offer: StreamOffer) -> Stream:
    try:
        return Stream.open(offer.folder)
    except InvalidArgumentError as reason:
        # Where the folder lies is the owner's business.
        raise source_refused(reason) from None


def _said(name: str) -> str:
    return f"Running counts of the largest items of {name}, with bands for their 95 % intervals."
