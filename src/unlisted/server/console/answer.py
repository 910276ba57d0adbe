"""An answer: drawn, listed, explained, and to be taken home as CSV, Parquet or a receipt."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from markupsafe import Markup
from starlette.responses import Response

from unlisted.release.export import as_csv, as_json, as_parquet
from unlisted.release.release import NUMBERS, Release, rows_of
from unlisted.server.console.missing import why_missing
from unlisted.server.console.pictures import picture
from unlisted.server.console.visits import Signed

router = APIRouter()

Entry = Annotated[int, Path(ge=1, le=2**53)]

MOST_ROWS = 500
"""A page of more rows helps nobody; the files have all."""

_FORMATS = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "parquet": ("application/vnd.apache.parquet", as_parquet),
    "receipt.json": ("application/json", lambda release: as_json(release.receipt())),
}


@router.get("/datasets/{name}/answers/{entry}")
def show(visit: Signed, name: str, entry: Entry) -> Response:
    """Show an answer that was paid for, as often as anybody likes."""
    past = visit.desk.release(visit.caller, name, entry)
    release = past.release
    given = {
        "current": "History",
        "dataset": name,
        "past": past,
        "release": release,
        "rows": first_rows(release),
        "chart": drawn(release),
        "missing": list(why_missing(release.plan, complete=release.complete)),
    }
    return visit.page("answer.html", given)


@router.get("/datasets/{name}/answers/{entry}/{file}")
def download(visit: Signed, name: str, entry: Entry, file: Literal["csv", "parquet", "receipt.json"]) -> Response:
    """Hand over an answer as a file."""
    release = visit.desk.release(visit.caller, name, entry).release
    kind, write = _FORMATS[file]
    # A file name has no letter in it that a header or a file system could stumble over.
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "answer"
    headers = {"Content-Disposition": f'attachment; filename="{plain}-{entry}.{file}"'}
    return Response(write(release), headers=headers, media_type=kind)


def first_rows(release: Release) -> list[dict[str, Any]]:
    """Return the rows that a page shows."""
    return rows_of(release.table.slice(0, MOST_ROWS))


def drawn(release: Release) -> Markup | None:
    """Return an answer as a picture. Values without numbers have none: the list of them says it all."""
    if not len(release) or set(NUMBERS).isdisjoint(release.table.column_names):
        return None
    return picture(release.chart(), _said(release))


def _said(release: Release) -> str:
    counted = "count" in release.table.column_names
    shown = "noisy counts as bars, with lines for their 95 % intervals" if counted else "in order"
    return f"The first values of the answer, {shown}. The table below has the same."
