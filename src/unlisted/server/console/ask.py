"""Ask: choose a data set and what to count, see what it costs and how good it will be, and only then spend."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.policy import foreseen_refusal, today
from unlisted.query.plan import Plan
from unlisted.query.saying import warnings_of
from unlisted.query.smallest_epsilon import search
from unlisted.release.release import short_up
from unlisted.server.console import asked
from unlisted.server.console.budget import Standing, standing_of
from unlisted.server.console.charts import picture
from unlisted.server.console.question_form import ACCURACIES, SUMMED, TOTALS, Draft, further
from unlisted.server.console.visits import Form, Sent, Signed, SignedIn
from unlisted.server.query_service import DatasetView
from unlisted.tables.column_types import ColumnType

router = APIRouter()

DraftName = Annotated[str, Query(max_length=200)]

KINDS = (
    ("histogram", "All counts", "every value that enough users share, with its count"),
    ("top-histogram", "The largest counts", "read from the largest alone; for tables of very many values"),
    ("top", "A ranking", "the most common values in order, with or without counts"),
    ("labels", "Which values there are", "the values alone, without counts or order; often more of them"),
    ("users", "How many users", "one number, whatever the columns above say"),
    ("distinct", "How many different values", "one number, rare values included"),
)
METHODS = (
    ("auto", "automatic"),
    ("counts", "by counts"),
    ("optimal", "by one random draw for each value, for users of one value"),
    ("weighted", "by weights"),
    ("sips", "by weights, in rounds"),
    ("hints", "by weights, in rounds with hints"),
    ("adaptive", "by weights, rerouted where not needed"),
)
RANKINGS = (
    ("gumbel", "among the largest counts", "no bound on what one user does"),
    ("labels", "values first, then their order", "no largest counts to look at"),
    ("find", "the first of all counts", "values first, then all their users; counts cost nothing more"),
)
COUNTINGS = (
    ("auto", "automatic"),
    ("threshold", "what is above a threshold, of so many items a user"),
    ("find", "find values first, then count all their users"),
)

_LATELY, _MOST_LOST = timedelta(days=7), 3
"""What was charged and not answered lately is said where visitors arrive."""

_MORE = (
    *("delta", "items_per_user", "fetch", "count", "rows_per_item", "noise", "method", "ranking", "counting"),
    *("by", "groups", "groups_per_user", "max_label_bytes", *TOTALS, *SUMMED, *further()),
)
_EXAMPLES = {
    ColumnType.TEXT: "{} = 'some text'",
    ColumnType.DATE: "{} >= '2025-12-01'",
    ColumnType.TIMESTAMP: "{} >= '2025-12-01 00:00'",
    ColumnType.BOOLEAN: "{}",
}


@dataclass(frozen=True)
class Wrong:
    """What is wrong with a draft, and the field it is wrong in; an empty field stands for the whole."""

    at: str = ""
    text: str = ""


@dataclass(frozen=True)
class Preview:
    """What a question will cost and how good its answer will be. `request` names the question for its payment."""

    plan: Plan
    standing: Standing
    chart: Markup | None
    request: str
    refusal: str | None = None

    @property
    def warnings(self) -> list[str]:
        """What is allowed and protects little."""
        return warnings_of(self.plan)

    @property
    def fits(self) -> bool:
        """Whether what is left pays for it, failures have not frozen the account, and no policy is against it."""
        is_open = not self.standing.frozen and self.refusal is None
        return is_open and self.standing.after(self.plan.guarantee) is not None


@dataclass(frozen=True)
class Offered:
    """A data set, and where the visitor's account on it stands; None without an account."""

    dataset: DatasetView
    standing: Standing | None


@router.get("/")
def datasets(visit: Signed) -> Response:
    """List the data sets."""
    service, caller = visit.service, visit.caller
    offered = [
        Offered(one, standing_of(service.balance(caller, one.name)) if one.account else None)
        for one in service.datasets(caller)
    ]
    since = (datetime.now(UTC) - _LATELY).isoformat()
    lost = [one for one in service.lost_questions(caller, _MOST_LOST) if one.entry.time >= since]
    return visit.page("datasets.html", {"current": "Data sets", "offered": offered, "lost": lost})


@router.get("/datasets/{name}/ask")
async def show(visit: Signed, name: str, draft: DraftName = "") -> Response:
    """Show the form with a preview of what it says: as it is at first, or as it was sent before."""
    return await visit.planning(lambda: _page(visit, name, draft))


@router.post("/datasets/{name}/ask")
async def preview(visit: Signed, name: str, sent: Sent) -> Response:
    """Take the form as it was sent, and show it with its preview: how the page works without JavaScript."""
    draft = Draft.sent(sent)
    if sent.one("find") and any(draft.typed[name] for name in ACCURACIES):
        return await visit.planning(lambda: _found(visit, name, draft))
    return await run_in_threadpool(_again, visit, name, draft)


@router.post("/datasets/{name}/ask/preview")
async def preview_alone(visit: Signed, name: str, sent: Sent) -> Response:
    """Return the preview as a part of a page, for a form that is being filled in."""

    def part() -> Response:
        return visit.page("preview.html", {**_previewed(visit, name, Draft.sent(sent)), "alone": True})

    return await visit.planning(part)


@router.post("/datasets/{name}/answers")
async def pay(visit: Signed, name: str, sent: Sent) -> Response:
    """Spend: begin the question that was previewed, and go to where its answer will be."""
    draft, request = Draft.sent(sent), sent.one("request") or secrets.token_urlsafe(16)
    try:
        plan = await visit.planning(lambda: visit.service.plan(visit.caller, name, draft.asked()), is_asked=True)
    except InvalidArgumentError:
        # The form says what is wrong with it.
        return await run_in_threadpool(_again, visit, name, draft)
    await asked.begin(visit, name, draft, visit.service.asked_by(visit.caller, plan), request)
    return visit.go("datasets", name, "asked", request)


def _found(visit: SignedIn, name: str, draft: Draft) -> Response:
    """Send the browser to the form with the smallest ε that is as accurate as it says, or why none is."""

    def plan_at(epsilon: Fraction) -> Plan:
        # As the account plans it: what it pays in decides how far an ε goes.
        return visit.service.plan(visit.caller, name, draft.but(epsilon=short_up(epsilon, 3)).asked())

    try:
        found = search(plan_at, draft.accuracy())
        return _again(visit, name, draft.but(epsilon=short_up(found.epsilon, 3)))
    except InvalidArgumentError as refused:
        return _again(visit, name, draft, _wrong(refused))


def _again(visit: SignedIn, name: str, draft: Draft, wrong: Wrong | None = None) -> Response:
    """Send the browser to the form as it was filled in."""
    visit.service.require_seen(visit.caller, name)
    note: dict[str, Any] = {"dataset": name, "draft": draft.hidden(), "state": "draft"}
    if wrong is not None:
        note |= {"state": "refused", "at": wrong.at, "text": wrong.text}
    return visit.go("datasets", name, "ask", draft=visit.console.notes.keep(visit.caller.key, note))


def _page(visit: SignedIn, name: str, noted: str) -> Response:
    dataset = visit.service.dataset(visit.caller, name)
    note = visit.console.notes.read(visit.caller.key, noted) if noted else None
    first = Draft.blank(dataset)
    draft = first if note is None else Draft.sent(Form(tuple((key, value) for key, value in note["draft"])))
    given = _previewed(visit, name, draft)
    if note is not None and note["state"] == "refused":
        given["wrong"] = Wrong(note.get("at", ""), note["text"])
    given |= {
        "current": "Data sets",
        "dataset": dataset,
        "kinds": KINDS,
        "methods": METHODS,
        "rankings": RANKINGS,
        "countings": COUNTINGS,
        "further": further(),
        "example": _example(dataset),
        "opened": any(getattr(draft, field) != getattr(first, field) for field in _MORE),
    }
    return visit.page("ask.html", given)


def _previewed(visit: SignedIn, name: str, draft: Draft) -> dict[str, Any]:
    """Return what the preview shows: the plan of a draft, or what is wrong with it."""
    place = f"{visit.root}/datasets/{quote(name, safe='')}"
    shown: dict[str, Any] = {"draft": draft, "wrong": Wrong(), "preview": None, "place": place, "alone": False}
    try:
        planned = visit.service.planned(visit.caller, name, draft.asked())
    except InvalidArgumentError as refused:
        return shown | {"wrong": _wrong(refused)}
    plan = planned.plan
    refusal = foreseen_refusal(visit.service.state(visit.caller, name), planned.charge, today())
    standing = standing_of(visit.service.balance(visit.caller, name))
    # A total always comes: there is no chance to draw.
    chart = None
    if plan.accuracy.needed:
        chart = picture(lambda: plan.chart().properties(width=390, height=230), _curve_said(plan), slim=True)
    return shown | {"preview": Preview(plan, standing, chart, secrets.token_urlsafe(16), refusal)}


def _wrong(refused: InvalidArgumentError) -> Wrong:
    at = refused.argument
    at = {"items": "item", "epsilon, rho": "epsilon"}.get(at, at)
    known = {"item", "where", "question", "epsilon", "k", *ACCURACIES, *_MORE}
    return Wrong(at if at in known else "", str(refused))


def _curve_said(plan: Plan) -> str:
    expected = plan.accuracy
    needed = ", ".join(f"{percent} % with {count:,}" for percent, count in expected.needed.items())
    most = plan.asked.get("items_looked_at") or plan.asked["items_per_user"]
    several = f" of {most:,} items each" if expected.at_best is not None else ""
    return f"The chance of an item to appear grows with the {plan.asked['count']}{several} who share it: {needed}."


def _example(dataset: DatasetView) -> str:
    """Return a condition that could be typed, for the hint below the field."""
    for name, kind in dataset.filters.items():
        quoted = name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
        return _EXAMPLES.get(kind, "{} > 10").format(quoted)
    return ""
