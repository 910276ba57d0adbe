"""An answer: drawn, listed, explained, and to be taken home as CSV, Parquet or a receipt."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path
from starlette.responses import Response

from unlisted.formats import as_csv, as_json, as_parquet
from unlisted.releases import Release, rows_of
from unlisted.server.console.pictures import picture
from unlisted.server.console.rendering import figure
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
        "chart": picture(release.chart(), _said(release)) if len(release) else None,
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


def why_missing(plan: Mapping[str, Any], *, complete: bool) -> Iterator[str]:
    """Say why a value that is in the data may not be in the answer. What was asked decides, not the data."""
    unit, needed = plan["count"], plan["users_needed"]
    if plan["users_needed_above_cut"]:
        yield (
            f"Only the {figure(plan['fetch'])} largest counts were looked at. Of those, one appears half of "
            f"the time if it is {needed['50']:,} {unit} above the first that was not, and 99 % of the time at "
            f"{needed['99']:,}."
        )
    else:
        yield (
            f"A count appears when it is above {figure(plan['threshold'])} with its noise. A value with "
            f"{needed['50']:,} {unit} appears half of the time, one with {needed['99']:,} in 99 of 100 answers. "
            "Rarer ones are left out, so that nobody is exposed by a value that only they have."
        )
    if plan["question"] == "top" and not complete:
        yield "The ranking is shorter than asked for: the next place would have gone to values that stay unnamed."
    if plan["items_per_user"] is not None:
        yield (
            f"Each user counts for at most {plan['items_per_user']:,} values, chosen at random. Whoever has more "
            "is missing from some counts, so counts can be lower than in the data."
        )
    if plan["rows_per_item"] is not None:
        yield f"Of each user, at most {plan['rows_per_item']:,} rows count for one value."
    yield f"Values of more than {plan['max_label_bytes']:,} bytes are not counted."


def _said(release: Release) -> str:
    counted = "count" in release.table.column_names
    drawn = "noisy counts as bars, with lines for their 95 % intervals" if counted else "in order"
    return f"The first values of the answer, {drawn}. The table below has the same."
