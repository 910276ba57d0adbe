"""What a stream is, fixed for its whole life: its question, its mechanism, its guarantee.

Settings are written once, when the stream is created, with every number that a release depends on: a later version
of the program that would calibrate otherwise goes on with the numbers that were paid for.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, TypedDict

from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.mechanisms.continual.binary_histogram import Display, RunningHistogram
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery

Unit = Literal["event", "user"]
ROUND = "round"
"""The column that tells the releases of an export apart."""

_FORMAT = 1


class StreamOptions(TypedDict, total=False):
    """How a stream counts, whom it protects, and what it shows.

    `count_per_item` is the most that one event adds to one item (1: it has the item or not). `unit` is "event",
    one user's rows in one round, or "user", all rows of a user, who then counts in at most `rounds_per_user`
    rounds. `display` is "live" or "sticky" (an item once shown stays). `release_every` is k for a release after
    each k-th round. `user` and `item` are columns of the rows; `where` is a condition on rows; labels of more than
    `max_label_bytes` bytes are not counted. `source` is what a ledger calls the rows.
    """

    count_per_item: int
    unit: Unit
    rounds_per_user: int | None
    display: Display
    release_every: int
    user: str
    item: str | list[str] | tuple[str, ...]
    where: str | None
    max_label_bytes: int
    source: str


@dataclass(frozen=True)
class Settings:
    """All that a stream's releases depend on, but for its key and its rounds."""

    rounds: int
    items_per_event: int
    count_per_item: int
    unit: Unit
    rounds_per_user: int | None
    display: Display
    release_every: int
    user: str
    item: tuple[str, ...]
    where: str | None
    max_label_bytes: int
    source: str
    variance: Fraction
    thresholds: tuple[int, ...]
    at_delta: Fraction
    reason: str

    @classmethod
    def for_budget(cls, budget: Budget, rounds: int, items_per_event: int, options: StreamOptions) -> Settings:
        """Calibrate the mechanism, once and for all."""
        asked = _complete(options)
        question = _question(items_per_event, asked)
        sensitivity = Sensitivity(whole("items_per_event", items_per_event), asked["count_per_item"])
        most = asked["rounds_per_user"]
        found = RunningHistogram.for_budget(
            budget,
            whole("rounds", rounds),
            sensitivity,
            display=asked["display"],
            every=_within(rounds, "release_every", asked["release_every"]),
            rounds_per_unit=1 if most is None else _within(rounds, "rounds_per_user", most),
        )
        return cls(
            rounds=rounds,
            items_per_event=items_per_event,
            **{**asked, "item": question.items},
            variance=found.mechanism.law.variance,
            thresholds=found.mechanism.thresholds,
            # With ρ, the budget's δ is the thresholds' alone; ε is then reported at twice that.
            at_delta=budget.delta if budget.epsilon is not None else 2 * budget.delta,
            reason=found.reason,
        )

    @property
    def mechanism(self) -> RunningHistogram:
        """The mechanism that was paid for."""
        return _mechanism(self)

    @property
    def protected(self) -> str:
        """Who is protected, as a ledger calls it. An event is less than a user, and is called otherwise."""
        return self.user if self.unit == "user" else f"{self.user} in one round"

    @property
    def sensitivity(self) -> Sensitivity:
        """The most that one unit adds in one round."""
        return Sensitivity(self.items_per_event, self.count_per_item)

    @cached_property
    def question(self) -> CountQuery:
        """What is asked of every round."""
        return _question(self.items_per_event, asdict(self))

    def to_bytes(self) -> bytes:
        """Return the settings as text that a person can read, with a checksum."""
        said = {
            name: str(value) if isinstance(value, Fraction) else value
            for name, value in ((field.name, getattr(self, field.name)) for field in fields(self))
        }
        body = {"format": _FORMAT, "stream": said, "sha256": _digest(said)}
        return json.dumps(body, ensure_ascii=False, indent=2).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Settings:
        """Read what `to_bytes` wrote; refuse another version, and what was changed."""
        try:
            body = json.loads(data)
            version, said, digest = body["format"], body["stream"], body["sha256"]
        except (ValueError, KeyError, TypeError):
            raise StreamError("The stream's settings are torn. Restore the folder from a copy.") from None
        if version != _FORMAT:
            raise StreamError("The stream was created by another version of this program. Open it with that one.")
        if digest != _digest(said):
            raise StreamError("The stream's settings were changed. They are fixed for its life: restore a copy.")
        said |= {name: Fraction(said[name]) for name in ("variance", "at_delta")}
        return cls(**said | {name: tuple(said[name]) for name in ("item", "thresholds")})


@lru_cache(maxsize=16)
def _mechanism(settings: Settings) -> RunningHistogram:
    """Build a mechanism once for all who open the stream: its table and its price take a while."""
    return RunningHistogram(
        DiscreteGaussian(settings.variance),
        settings.thresholds,
        settings.rounds,
        settings.sensitivity,
        settings.display,
        settings.release_every,
        settings.rounds_per_user or 1,
    )


def _complete(options: StreamOptions) -> dict[str, Any]:
    """Return all options, each checked, with what was not said filled in."""
    known = StreamOptions.__annotations__
    for name, value in options.items():
        if name not in known:
            # A misspelt `where` must not be a stream without one.
            raise InvalidArgumentError(name, value, f"one of the options {', '.join(known)}")
    asked: dict[str, Any] = {
        "count_per_item": 1,
        "unit": "event",
        "rounds_per_user": None,
        "display": "live",
        "release_every": 1,
        "user": "user",
        "item": "item",
        "where": None,
        "max_label_bytes": LONGEST_LABEL,
        "source": "a stream",
        **options,
    }
    unit, most = asked["unit"], asked["rounds_per_user"]
    if unit not in ("event", "user"):
        raise InvalidArgumentError("unit", unit, "'event' or 'user'")
    if unit == "user" and most is None:
        hint = "It is the most rounds that one user counts in; what is over is dropped."
        raise InvalidArgumentError("rounds_per_user", None, "a whole number, 1 or above, with the unit user", hint)
    if unit == "event" and most is not None:
        hint = "The unit user protects all rounds of a user together."
        raise InvalidArgumentError("rounds_per_user", most, "left out with the unit event", hint)
    for name, meaning in (("user", "of the column that says whose row it is"), ("source", "of the rows")):
        if not isinstance(asked[name], str) or not asked[name]:
            raise InvalidArgumentError(name, asked[name], f"the name {meaning}")
    whole("count_per_item", asked["count_per_item"])
    return asked


def _question(items_per_event: int, asked: dict[str, Any]) -> CountQuery:
    several = asked["count_per_item"] > 1
    question = CountQuery(
        asked["item"],
        count="rows" if several else "users",
        rows_per_item=asked["count_per_item"] if several else None,
        items_per_user=whole("items_per_event", items_per_event),
        where=asked["where"],
        max_label_bytes=asked["max_label_bytes"],
    )
    if ROUND in question.items:
        hint = "An export has a column of that name itself. Rename it in the source, for example in a view."
        raise InvalidArgumentError("item", ROUND, f"named otherwise than {ROUND}", hint)
    return question


def _within(rounds: int, argument: str, value: object) -> int:
    number = whole(argument, value)
    if number > rounds:
        raise InvalidArgumentError(argument, value, f"at most {rounds}, the number of rounds")
    return number


def _digest(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
