"""From what the desk returns to the bodies of responses: plain values, and the formats of a release."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from unlisted.query.remote_table import RELEASE_TYPE, STAMP_HEADER
from unlisted.release.export import as_csv, as_parquet
from unlisted.release.release import Release
from unlisted.server.desk import DatasetView, PastRelease
from unlisted.tables.column_types import ColumnType


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return plain values as JSON in which every letter is ASCII: no label reaches a terminal as it is."""
    return Response(json.dumps(value), status, headers, "application/json")


def dataset_body(view: DatasetView) -> dict[str, Any]:
    """Return a data set as plain values."""
    return {
        **{name: value for name, value in vars(view).items() if name not in ("items", "filters")},
        "items": _columns(view.items),
        "filters": _columns(view.filters),
    }


def past_body(past: PastRelease) -> dict[str, Any]:
    """Return a past release without its rows."""
    rho, delta = past.cost.texts
    said = past.release.as_dict()
    return {
        "entry": past.entry,
        "account": past.account,
        "time": past.time.isoformat(timespec="seconds"),
        "guarantee": said["guarantee"],
        "spent": {"rho": rho, "delta": delta},
        "plan": said["plan"],
    }


def rows_body(release: Release) -> dict[str, Any]:
    """Return a release as plain values."""
    time = release.time.isoformat(timespec="seconds")
    return {**release.as_dict(), "reading": release.reading, "time": time}


def release_response(release: Release, accepted: str, status: int = 200) -> Response:
    """Return a release in the first of our formats that the caller accepts, JSON if it names none."""
    stamp = dict(release.stamp or {})
    headers = {STAMP_HEADER: json.dumps(stamp), "Vary": "Accept"}
    for media_type in _preferred(accepted):
        if media_type not in _WRITERS:
            continue
        ending, write = _WRITERS[media_type]
        headers["Content-Disposition"] = f'attachment; filename="release-{stamp.get("entry", 0)}.{ending}"'
        return Response(write(release), status, headers, media_type)
    return json_response({**rows_body(release), "ledger": stamp}, status, headers)


_WRITERS: dict[str, tuple[str, Callable[[Release], bytes]]] = {
    "text/csv": ("csv", as_csv),
    "application/vnd.apache.parquet": ("parquet", as_parquet),
    RELEASE_TYPE: ("release", Release.to_bytes),
}
RELEASE_TYPES = ("application/json", *_WRITERS)


def _preferred(accepted: str) -> list[str]:
    """Return the media types that come before JSON or anything, in the order they are named."""
    named = [one.partition(";")[0].strip().lower() for one in accepted.split(",")]
    ends = [at for at, one in enumerate(named) if one in ("application/json", "application/*", "*/*", "")]
    return named[: ends[0]] if ends else named


def _columns(columns: Mapping[str, ColumnType]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind.value} for name, kind in columns.items()]
