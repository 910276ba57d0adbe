"""What a stream counts and whom it protects, for its whole life: every option, said once.

As for the questions of `query/questions.py`, each field is an option with how it is read, its default and one line
of help. The parameters of `Stream.create` and the options of the shell are made from them, or compared with them
by a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.continual_histogram import Display
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query.options import Option, as_it_is, choice, option, own_options, read_whole
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery, item_names

Unit = Literal["event", "user"]
StreamNoise = Literal["correlated", "tree"]

ROUND = "round"
"""The column that tells the releases of an export apart."""

EXPLAINED = (
    "'user' protects a person over the whole stream, however often they come. 'event' protects what a person does "
    "in one round, and no more: somebody who comes every round, always with the same rare value, is shown in the "
    "end."
)
"""What the unit decides, in plain words."""


PROTECTS_EVENTS = (
    "This stream protects what a person does in one round, not the person: somebody who comes in every round is "
    'protected less and less (unit="user" protects them).'
)
"""What is said when a stream of events is created."""


class EventLevelWarning(UserWarning):
    """A stream was created that protects what a person does in one round, and not the person."""


def _read_unit(name: str, value: Any) -> Any:
    if value not in ("event", "user"):
        raise InvalidArgumentError(name, value, "'event' or 'user'", f"Who is to be protected? {EXPLAINED}")
    return value


def _read_name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        meaning = {"user": "of the column that says whose row it is", "source": "of the rows"}[name]
        raise InvalidArgumentError(name, value, f"the name {meaning}")
    return value


def _read_items(name: str, value: Any) -> tuple[str, ...]:  # noqa: ARG001 - the check is that of all questions
    return item_names(value)


@dataclass(frozen=True, kw_only=True)
class StreamQuestion:
    """The options of a stream, each checked."""

    rounds: int = option(Option("whole", "How many rounds there will be at most.", whole))
    unit: Unit = option(
        Option(
            "choice",
            "Who is protected: a person over the whole stream (user), or only what a person does in one round "
            "(event). There is no default.",
            _read_unit,
            ("event", "user"),
        )
    )
    items_per_event: int = option(
        Option("whole", "The most distinct items that one user counts for in one round.", whole)
    )
    count_per_item: int = option(
        Option("whole", "The most rows of one user that one item counts in one round.", whole), 1
    )
    rounds_per_user: int | None = option(
        Option(
            "whole",
            "With unit user: the most rounds that one user counts in; what is over is dropped.",
            read_whole,
        ),
        None,
    )
    noise: StreamNoise = option(
        choice(
            StreamNoise,
            "Noise of which much cancels from round to round, or the survey's binary tree, with about three times "
            "as much.",
        ),
        "correlated",
    )
    display: Display = option(
        choice(Display, "Show an item while it is over the threshold, or from then on for ever."), "live"
    )
    release_every: int = option(Option("whole", "Release after every K-th round only.", whole), 1)
    where: str | None = option(Option("text", "A condition on rows.", as_it_is), None)
    max_label_bytes: int = option(Option("whole", "Longer labels are not counted.", whole), LONGEST_LABEL)
    user: str = option(Option("text", "The column that says whose row it is.", _read_name), "user")
    item: tuple[str, ...] = option(
        Option(
            "columns",
            "The column whose values are counted. Give it several times for items made of several columns.",
            _read_items,
        ),
        ("item",),
    )
    source: str = option(
        Option(
            "text",
            "What the ledger calls the rows: the source of the data set whose account pays.",
            _read_name,
        ),
        "a stream",
    )

    def __post_init__(self) -> None:
        for name, about in own_options(StreamQuestion).items():
            object.__setattr__(self, name, about.read(name, getattr(self, name)))
        if self.unit == "user" and self.rounds_per_user is None:
            hint = "It is the most rounds that one user counts in; what is over is dropped."
            raise InvalidArgumentError("rounds_per_user", None, "given with the unit user", hint)
        if self.unit == "event" and self.rounds_per_user is not None:
            allowed, hint = "left out with the unit event", "The unit user protects all rounds of a user together."
            raise InvalidArgumentError("rounds_per_user", self.rounds_per_user, allowed, hint)
        for name in ("rounds_per_user", "release_every"):
            if (getattr(self, name) or 1) > self.rounds:
                allowed = f"at most {self.rounds}, the number of rounds"
                raise InvalidArgumentError(name, getattr(self, name), allowed)
        if ROUND in self.item:
            hint = "An export has a column of that name itself. Rename it in the source, for example in a view."
            raise InvalidArgumentError("item", ROUND, f"named otherwise than {ROUND}", hint)
        self.counted_in_a_round()

    @property
    def last_release(self) -> int:
        """The round after which the last release is due."""
        return self.rounds // self.release_every * self.release_every

    @property
    def sensitivity(self) -> Sensitivity:
        """The most that one unit adds in one round."""
        return Sensitivity(self.items_per_event, self.count_per_item)

    @property
    def protected(self) -> str:
        """Who is protected, as a ledger calls it. An event is less than a user, and is called otherwise."""
        return self.user if self.unit == "user" else f"{self.user} in one round"

    @property
    def counts(self) -> str:
        """What is counted, as a noun: an event is one user's rows in one round."""
        return "rows" if self.count_per_item > 1 else "events"

    def counted_in_a_round(self) -> CountQuery:
        """Return what is asked of every round."""
        several = self.count_per_item > 1
        return CountQuery(
            self.item,
            count="rows" if several else "users",
            rows_per_item=self.count_per_item if several else None,
            items_per_user=self.items_per_event,
            where=self.where,
            max_label_bytes=self.max_label_bytes,
        )
