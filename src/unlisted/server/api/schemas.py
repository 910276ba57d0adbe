"""The bodies of the API as its OpenAPI document describes them, and how answers become such bodies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, create_model
from starlette.responses import Response

from unlisted.query.options import AMOUNTS, Option, own_options
from unlisted.query.questions import KINDS
from unlisted.query.remote_table import RELEASE_TYPE, STAMP_HEADER
from unlisted.release.export import as_csv, as_parquet
from unlisted.release.release import Release
from unlisted.server.planning import Asked
from unlisted.server.query_service import DatasetView, ReleaseSummary
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import MOST_LABEL_BYTES
from unlisted.tables.groups import MOST_LISTED

Positive = (
    Annotated[StrictInt, Field(gt=0)]
    | Annotated[StrictFloat, Field(gt=0, allow_inf_nan=False)]
    | Annotated[StrictStr, Field(pattern=r"^[0-9]{1,30}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?$")]
)
"""An amount, as a number or as decimal text; a number is read as the decimal that it prints."""

_SIGNED = Field(pattern=r"^-?[0-9]{1,30}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?$")
AnyNumber = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)] | Annotated[StrictStr, _SIGNED]

Whole = Annotated[StrictInt, Field(ge=1, le=2**53)]
Digest = Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{64}$")]
Column = Annotated[StrictStr, Field(min_length=1, max_length=200)]

EXAMPLES: dict[str, Any] = {
    "histogram": {
        "question": "histogram",
        "items": ["query"],
        "epsilon": 1,
        "delta": 1e-8,
        "items_per_user": 10,
        "where": "device = 'phone'",
    },
    "top": {"question": "top", "items": ["query"], "k": 20, "epsilon": 1, "delta": 1e-8},
    "top-histogram": {
        "question": "top-histogram",
        "items": ["query"],
        "epsilon": 1,
        "delta": 1e-8,
        "items_per_user": 10,
        "fetch": 1000,
    },
    "labels": {
        "question": "labels",
        "items": ["query"],
        "epsilon": 1,
        "delta": 1e-8,
        "items_per_user": 100,
    },
    "by group": {
        "question": "histogram",
        "items": ["query"],
        "epsilon": 1,
        "delta": 1e-8,
        "by": "device",
        "groups": ["phone", "desktop"],
    },
    "users": {"question": "users", "epsilon": "0.1", "delta": 1e-8, "where": "device = 'phone'"},
    "distinct": {"question": "distinct", "items": ["query"], "epsilon": 1, "delta": 1e-8, "items_per_user": 10},
}

_KINDS = (
    "`histogram` (counts of all values), `top` (a ranking), `top-histogram` (counts of the largest values), "
    "`labels` (the values alone), `users` (how many users) or `distinct` (how many different values)."
)
_LONGEST_WHERE, _MOST_COLUMNS = 10_000, 8


class _Question(BaseModel):
    """A question about a data set. Which fields go with which question is as in the library."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": list(EXAMPLES.values())})

    question: Literal[tuple(KINDS)] = Field(description=_KINDS)  # type: ignore[valid-type]
    items: list[Column] = Field(
        default_factory=list,
        max_length=_MOST_COLUMNS,
        description="The columns that together name an item; left out of `users`.",
    )
    plan_sha256: Digest | None = Field(None, description="From a preview: refuse to run any other plan.")

    def asked(self) -> Asked:
        """Return the question as the service takes it."""
        told = {name: getattr(self, name) for name in _offered()}
        return Asked.of(self.question, tuple(self.items), told)


def _offered() -> dict[str, tuple[Option, list[str]]]:
    """Return every option that a body may have, and the kinds of question that have it."""
    found: dict[str, tuple[Option, list[str]]] = {name: (about, list(KINDS)) for name, about in AMOUNTS.items()}
    for kind in KINDS.values():
        for name, about in own_options(kind).items():
            if name != "items" and not about.owners:
                found.setdefault(name, (about, []))[1].append(kind.kind)
    return found


def _as_field(name: str, about: Option, kinds: list[str]) -> tuple[Any, Any]:
    """Return the type of an option in a body, and its description. None is what was not said."""
    choices = dict.fromkeys(word for kind in kinds for word in _choices(kind, name))
    shapes: dict[str, Any] = {
        "amount": Positive,
        "number": AnyNumber,
        "whole": Whole,
        "switch": StrictBool,
        "text": Annotated[StrictStr, Field(max_length=_LONGEST_WHERE)],
        "choice": Literal[tuple(choices)] if choices else None,
        "values": Annotated[list[StrictBool | StrictInt | StrictStr], Field(min_length=1, max_length=MOST_LISTED)],
    }
    shape = shapes[about.kind]
    if name == "fetch":
        shape = Whole | Literal["all"]
    if name == "max_label_bytes":
        shape = Annotated[StrictInt, Field(ge=1, le=MOST_LABEL_BYTES)]
    only = "" if len(kinds) == len(KINDS) else f"For {', '.join(f'`{one}`' for one in kinds)}. "
    helps = dict.fromkeys(own_options(KINDS[kind])[name].help for kind in kinds) if name not in AMOUNTS else {}
    return shape | None, Field(None, description=only + (" ".join(helps) or about.help))


def _choices(kind: str, name: str) -> tuple[str, ...]:
    about = own_options(KINDS[kind]).get(name)
    return () if about is None else about.choices


if TYPE_CHECKING:
    QuestionBody = _Question
else:
    QuestionBody = create_model(
        "QuestionBody",
        __base__=_Question,
        __doc__=_Question.__doc__,
        **{name: _as_field(name, about, kinds) for name, (about, kinds) in _offered().items()},
    )


class Guarantee(BaseModel):
    """The guarantee: δ-approximate ρ-zCDP, and the ε that this is at a total δ. Every number is rounded up.

    It is the ceiling of what the mechanism may cost, whatever came out; what was charged is `spent`.
    """

    rho: float
    mu_squared: float | None = Field(None, description="The μ² of Gaussian DP, where the account counts it.")
    delta: float
    epsilon: float
    at_delta: float


class Preview(BaseModel):
    """What a question would cost and how good its answer would be. No data was touched."""

    complete: bool | None = Field(description="Whether the answer will be all there is; null for a ranking.")
    guarantee: Guarantee
    plan: dict[str, Any] = Field(description="Mechanism, threshold, noise, users needed to appear, and why.")


class PreviewBody(Preview):
    """A preview, and the name of the plan: sent along with a question, no other plan is run."""

    plan_sha256: str
    refusal: str | None = Field(
        description="Why the owner's policy would refuse it now, unless it was answered before; or null."
    )
    warnings: list[str] = Field(
        description="What is allowed and protects little: a large ε, or a δ that is not small against the users "
        "whom the owner declared."
    )


class Stamp(BaseModel):
    """The entry of the ledger that a release was paid with."""

    dataset: str
    account: str
    entry: int
    hash: str


class Spent(BaseModel):
    """What the account was charged, rounded up: of a ranking that ended early, less than its guarantee.

    It is `rho`, or `mu_squared` where the account counts that.
    """

    rho: float | None = None
    mu_squared: float | None = None
    delta: float


class RowsBody(Preview):
    """Rows that may be published."""

    spent: Spent | None = Field(description="What the account was charged; null where a stream paid at its start.")
    rows: list[dict[str, Any]] = Field(description="Items; beside them count, low and high, or rank, if released.")
    reading: str = Field(description="How the numbers are to be read.")
    time: str


class ReleaseBody(RowsBody):
    """An answer that was paid for."""

    spent: Spent
    ledger: Stamp


class StreamBody(BaseModel):
    """A stream, and how far it is."""

    name: str
    description: str
    dataset: str
    round: int = Field(description="How many rounds have been taken in.")
    rounds: int
    release_every: int


class StreamReleaseBody(StreamBody):
    """A stream with its latest release."""

    latest: int = Field(description="The round of the latest release; 0 before the first.")
    release: RowsBody | None


class AmountBody(BaseModel):
    """What is counted, `rho` or `mu_squared`, and δ, as exact decimals."""

    rho: str | None = None
    mu_squared: str | None = None
    delta: str


class PastReleaseBody(BaseModel):
    """An answer that was paid for; its rows are behind its number."""

    entry: int
    account: str
    time: str
    guarantee: Guarantee
    spent: AmountBody = Field(description="What the account was charged, as exact decimals.")
    plan: dict[str, Any]


class ColumnBody(BaseModel):
    """A column and what it holds; never a value of it."""

    name: str
    type: str


class DatasetBody(BaseModel):
    """A data set as this key sees it."""

    name: str
    description: str
    user: str = Field(description="The column whose values are protected.")
    items: list[ColumnBody] = Field(description="Columns that may be counted.")
    filters: list[ColumnBody] = Field(description="Columns that `where` may speak of.")
    items_per_user: int | None
    rows_per_item: int | None
    adjacency: str
    version: str | None
    account: str | None = Field(description="The account that pays for this key's questions.")
    result_epsilon: str | None = Field(description="The ε of one result, if the account was opened with one.")
    question_delta: str | None = Field(description="The δ of one question, if the account was opened with one.")
    kind: str | None = Field(description="What the account adds up: the ρ of `zcdp`, or the μ² of `gaussian` DP.")


class FailuresBody(BaseModel):
    """How many questions of an account failed after data was touched, since the owner last thawed it."""

    seen: int
    allowed: int
    frozen: bool = Field(description="Whether no more may be asked until the owner has looked.")


class BalanceBody(BaseModel):
    """Where an account stands."""

    account: str
    dataset: str
    kind: str = Field(description="What is added up: the ρ of `zcdp`, or the μ² of `gaussian` DP.")
    closed: bool
    total: AmountBody
    spent: AmountBody
    reserved: AmountBody
    left: AmountBody = Field(description="What a next question may cost: the least of account, period, data set.")
    spent_epsilon: dict[str, float]
    dataset_left: AmountBody
    more_like_last: int | None = Field(
        description="About how many more questions like the account's last fit now; null before the first."
    )
    failures: FailuresBody
    dataset_frozen: bool = Field(description="Whether too many questions of all accounts together have failed.")
    period: dict[str, Any] | None = None


class EntryBody(BaseModel):
    """One thing that happened."""

    dataset: str
    number: int
    time: str
    kind: str
    account: str | None
    reservation: int | None
    rho: str | None = None
    mu_squared: str | None = None
    delta: str
    body: dict[str, Any]


class Problem(BaseModel):
    """What is wrong and what to do next (RFC 9457).

    `charged` says whether it was paid for all the same; null where nobody can know.
    """

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    charged: bool | None


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


def past_body(past: ReleaseSummary) -> dict[str, Any]:
    """Return a past release without its rows."""
    return {
        "entry": past.entry,
        "account": past.account,
        "time": past.time.isoformat(timespec="seconds"),
        "guarantee": past.guarantee,
        "spent": past.cost.as_dict(),
        "plan": past.plan,
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
