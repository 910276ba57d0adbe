"""Answers: drawn, listed, explained, and as files; and all past ones, which cost nothing to look at again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from markupsafe import Markup
from starlette.responses import Response

from unlisted.release.export import as_csv, as_json, as_parquet
from unlisted.release.release import NUMBERS, Release, rows_of
from unlisted.release.released_too import has_shares, share_texts, totals_as_lines
from unlisted.server.console.charts import picture
from unlisted.server.console.rendering import figure
from unlisted.server.console.visits import Signed

router = APIRouter()

Entry = Annotated[int, Path(ge=1, le=2**53)]
Before = Annotated[int | None, Query(ge=1, le=2**53)]

_MOST_ANSWERS, _MOST_LOST = 50, 20

MOST_ROWS, ALL_ROWS = 500, 20_000
"""Rows on a page, and on one that somebody asks for to print it; the files have all."""

_FORMATS = {
    "csv": ("text/csv; charset=utf-8", as_csv),
    "parquet": ("application/vnd.apache.parquet", as_parquet),
    "receipt.json": ("application/json", lambda release: as_json(release.receipt())),
}


@router.get("/datasets/{name}/answers/{entry}")
def show(visit: Signed, name: str, entry: Entry, rows: Literal["all"] | None = None) -> Response:
    """Show an answer that was paid for, as often as anybody likes."""
    past = visit.service.release(visit.caller, name, entry)
    release = past.release
    given = {
        "current": "History",
        "dataset": name,
        "past": past,
        "release": release,
        "rows": first_rows(release, MOST_ROWS if rows is None else ALL_ROWS),
        "more": f"{entry}?rows=all" if rows is None and len(release) <= ALL_ROWS else None,
        "chart": drawn(release),
        "drawable": is_drawable(release),
        "totals": totals_as_lines(release),
        "shares": share_texts(release, MOST_ROWS if rows is None else ALL_ROWS) if has_shares(release) else None,
        "missing": list(why_missing(release.plan, complete=release.complete)),
    }
    return visit.page("answer.html", given)


@router.get("/datasets/{name}/answers/{entry}/{file}")
def download(visit: Signed, name: str, entry: Entry, file: Literal["csv", "parquet", "receipt.json"]) -> Response:
    """Hand over an answer as a file."""
    release = visit.service.release(visit.caller, name, entry).release
    kind, write = _FORMATS[file]
    # A file name has no letter in it that a header or a file system could stumble over.
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-") or "answer"
    headers = {"Content-Disposition": f'attachment; filename="{plain}-{entry}.{file}"'}
    return Response(write(release), headers=headers, media_type=kind)


def first_rows(release: Release, most: int = MOST_ROWS) -> list[dict[str, Any]]:
    """Return the rows that a page shows."""
    return rows_of(release.table.slice(0, most))


def drawn(release: Release) -> Markup | None:
    """Return an answer as a picture. Values without numbers have none: the list of them says it all."""
    return picture(release.chart, _said(release)) if is_drawable(release) else None


def is_drawable(release: Release) -> bool:
    """Return whether there is something to measure."""
    return bool(len(release)) and not set(NUMBERS).isdisjoint(release.table.column_names)


def _said(release: Release) -> str:
    counted = "count" in release.table.column_names
    shown = "noisy counts as bars, with lines for their 95 % intervals" if counted else "in order"
    return f"The first values of the answer, {shown}. The table below has the same."


@router.get("/history")
def history(visit: Signed) -> Response:
    """List the newest answers about all data sets."""
    service, caller = visit.service, visit.caller
    names = service.names(caller)
    given = {
        "current": "History",
        "found": service.newest_releases(caller, _MOST_ANSWERS),
        "lost": service.lost_questions(caller, _MOST_LOST),
        "names": names,
        "only": None,
        "older": None,
    }
    return visit.page("history.html", given)


@router.get("/history/{name}")
def history_of_one(visit: Signed, name: str, before: Before = None) -> Response:
    """List the answers about one data set, a page at a time."""
    service, caller = visit.service, visit.caller
    found = service.releases(caller, name, before, _MOST_ANSWERS)
    given = {
        "current": "History",
        "found": found,
        "lost": [] if before else service.lost_questions(caller, _MOST_LOST, name),
        "names": service.names(caller),
        "only": name,
        "older": found[-1].entry if len(found) == _MOST_ANSWERS else None,
    }
    return visit.page("history.html", given)


_NOBODY_EXPOSED = "Rarer ones are left out, so that nobody is exposed by a value that only they have."


def why_missing(plan: Mapping[str, Any], *, complete: bool) -> Iterator[str]:
    """Yield the reasons, from the plan that a release keeps."""
    if not plan["users_needed"]:
        yield from _what_a_total_leaves_out(plan)
        return
    yield _what_it_needs(plan)
    if plan["question"] == "top" and not complete:
        nothing_more = (
            "no more values were shared by enough users."
            if plan["mechanism"] in ("label_ranking", "found_top_k")
            else "the next place would have gone to values that stay unnamed."
        )
        yield f"The ranking is shorter than asked for: {nothing_more}"
    if plan.get("items_looked_at") is not None:
        yield (
            f"Each user helps at most {plan['items_looked_at']:,} values at a time, chosen at random, to be "
            "found. Found ones are counted over all their users; whoever has many of them counts for less in "
            "each, so counts can be lower than in the data."
        )
    elif plan["items_per_user"] is not None:
        yield _what_is_bounded(plan)
    if plan["rows_per_item"] is not None:
        yield f"Of each user, at most {plan['rows_per_item']:,} rows count for one value."
    yield f"Values of more than {plan['max_label_bytes']:,} bytes are not counted."


def _what_a_total_leaves_out(plan: Mapping[str, Any]) -> Iterator[str]:
    """Say what one number about all rows does not count."""
    yield "Nothing was held back: the number has noise, and always comes."
    if plan["items_per_user"] is not None:
        yield (
            f"Each user counts for at most {plan['items_per_user']:,} values, chosen at random. A value that only "
            "users of more have may be missing from the number."
        )
        yield f"Values of more than {plan['max_label_bytes']:,} bytes are not counted."


def _what_it_needs(plan: Mapping[str, Any]) -> str:
    """Say what a value needs to appear."""
    unit, needed, threshold = plan["count"], plan["users_needed"], figure(plan["threshold"])
    if plan["users_needed_above_cut"]:
        return (
            f"Only the {figure(plan['fetch'])} largest counts were looked at. Of those, one appears half of "
            f"the time if it is {needed['50']:,} {unit} above the first that was not, and 99 % of the time at "
            f"{needed['99']:,}."
        )
    alone = plan.get("users_needed_of_one_item")
    bound = plan.get("items_looked_at") or plan["items_per_user"]
    if plan["mechanism"] == "optimal_labels":
        return (
            f"One random draw decides about each value. One with {needed['50']:,} {unit} appears half of the "
            f"time, one with {needed['99']:,} in 99 of 100 answers. {_NOBODY_EXPOSED}"
        )
    if alone is None or bound == 1:
        return (
            f"A value appears when its count is above {threshold} with its noise. One with {needed['50']:,} "
            f"{unit} appears half of the time, one with {needed['99']:,} in 99 of 100 answers. {_NOBODY_EXPOSED}"
        )
    return (
        "The only value of a user weighs 1, and each of n values 1/√n. A value appears when the weights of its "
        f"users are above {threshold} with their noise: half of the time with {needed['50']:,} users of {bound:,} "
        f"values each or with {alone['50']:,} of one, and in 99 of 100 answers with {needed['99']:,} or "
        f"{alone['99']:,}. {_NOBODY_EXPOSED}"
    )


def _what_is_bounded(plan: Mapping[str, Any]) -> str:
    """Say what the bound on the items of a user leaves out."""
    most = f"at most {plan['items_per_user']:,} values"
    if plan["mechanism"] == "label_ranking":
        return f"Each user helps {most}, chosen at random, to be found. Found ones are ranked by all their users."
    if plan["question"] == "labels":
        return f"Each user helps {most} at a time, chosen at random, to be found, and none of its others."
    return (
        f"Each user counts for {most}, chosen at random. Whoever has more is missing from some counts, so counts "
        "can be lower than in the data."
    )
