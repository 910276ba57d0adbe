"""What a stream counts and whom it protects, for its whole life: every option, said once.

As for the questions of `query/questions.py`, each field is an option with how it is read, its default and one line
of help. The parameters of `Stream.create` and the options of the shell are made from them, or compared with them
by a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.continual_histogram import Display
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.query.options import Option, as_it_is, choice, option, own_options, read_whole
from unlisted.streams.contributions import Limit, WindowLimit
from unlisted.streams.times import duration
from unlisted.tables.count_query import LONGEST_LABEL, CountQuery, item_names

Unit = Literal["event", "user"]
StreamCount = Literal["first", "every"]
StreamNoise = Literal["correlated", "tree"]

ROUND = "round"
"""The column that tells the releases of an export apart."""

_LENGTHS = ((604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))

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


def _read_count(name: str, value: Any) -> Any:
    if value not in (None, "first", "every"):
        raise InvalidArgumentError(name, value, "'first' or 'every'")
    return value


def _read_name(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        meaning = {"user": "of the column that says whose row it is", "source": "of the rows"}[name]
        raise InvalidArgumentError(name, value, f"the name {meaning}")
    return value


def _read_length(name: str, value: Any) -> str | None:
    """Read a length of time, and say it in one way: as many of the largest unit as there are."""
    if value is None:
        return None
    seconds = duration(name, value).total_seconds()
    for size, unit in _LENGTHS:
        if seconds % size == 0:
            many = int(seconds // size)
            return f"{many} {unit}" if many == 1 else f"{many} {unit}s"
    raise InvalidArgumentError(name, value, "a whole number of seconds, minutes, hours, days or weeks")


def _read_window(name: str, value: Any) -> int | str | None:
    """Read a number of rounds, or a length of time."""
    if isinstance(value, str) and not value.strip().isdecimal():
        duration(name, value)
        return value
    return None if value is None else whole(name, int(value) if isinstance(value, str) else value)


def _read_items(name: str, value: Any) -> tuple[str, ...]:  # noqa: ARG001 - the check is that of all questions
    return item_names(value)


_IN_A_ROUND = "It is the most different items that one user counts for in one round, such as 3."
_ONCE = (
    "It is the most different items that one user counts for over the whole stream, once for each, such as 10. To "
    "count users again in every round, say rounds_per_user and items_per_event instead."
)
_OF_USERS = "Events are not grouped by user. The unit user has it."
_BOUNDS: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "event": ({"items_per_event": _IN_A_ROUND}, dict.fromkeys(("items_per_user", "rounds_per_user"), _OF_USERS)),
    "first": (
        {"items_per_user": _ONCE},
        {
            "items_per_event": "items_per_user bounds the items of a user in all rounds together.",
            "rounds_per_user": "A user counts once for each item, in whatever round.",
        },
    ),
    "every": (
        {"rounds_per_user": "It is the most rounds that one user counts in.", "items_per_event": _IN_A_ROUND},
        {"items_per_user": "items_per_event bounds the items of a user in each of the rounds_per_user."},
    ),
}
"""Which bounds are needed, and which do not belong, by who is protected and how users count."""

_SAID = {"event": "the unit event", "first": "the unit user", "every": 'count="every"'}


def _items(most: int | None) -> str:
    return "1 item" if most == 1 else f"{most:,} items"


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
    count: StreamCount | None = option(
        Option(
            "choice",
            "With unit user: count each user once for each item, when they first have it (first), or again in "
            "every round (every). It is first, unless a number of rounds per user is given.",
            _read_count,
            ("first", "every"),
        ),
        None,
    )
    items_per_user: int | None = option(
        Option(
            "whole",
            "With unit user: the most distinct items that one user counts for over the whole stream.",
            read_whole,
        ),
        None,
    )
    items_per_event: int | None = option(
        Option(
            "whole",
            "With unit event, or rounds per user: the most distinct items that one user counts for in one round.",
            read_whole,
        ),
        None,
    )
    count_per_item: int = option(
        Option("whole", "The most rows of one user that one item counts in one round.", whole), 1
    )
    rounds_per_user: int | None = option(
        Option(
            "whole",
            "With unit user: the most rounds that one user counts in, in place of items per user.",
            read_whole,
        ),
        None,
    )
    period: int | None = option(
        Option("whole", "With unit user: how many rounds make a period, to limit users in each.", read_whole), None
    )
    per_period: int | None = option(
        Option(
            "whole",
            "How many of a user's items (or with rounds per user, rounds) count in one period.",
            read_whole,
        ),
        None,
    )
    round_length: str | None = option(
        Option(
            "text",
            "How long a round is, such as '1 hour': for windows of time, and where an account pays for events.",
            _read_length,
        ),
        None,
    )
    window: int | str | None = option(
        Option(
            "text",
            "Start the counts again in every window: a number of rounds, or a length of time such as '1 day'.",
            _read_window,
        ),
        None,
    )
    windows_per_user: int | None = option(
        Option(
            "whole",
            "With windows and unit user: the most windows that one user counts in; items per user is for each.",
            read_whole,
        ),
        None,
    )
    noise: StreamNoise = option(
        choice(
            StreamNoise,
            "Noise of which much cancels from round to round, or the survey's binary tree, which is noisier.",
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
        if self.count is None:
            once = self.unit == "user" and self.rounds_per_user is None
            object.__setattr__(self, "count", "first" if once else "every")
        self._check_who()
        self._check_period()
        self._check_window()
        for name in ("rounds_per_user", "release_every", "period", "window"):
            if (getattr(self, name) or 1) > self.rounds:
                allowed = f"at most {self.rounds}, the number of rounds"
                raise InvalidArgumentError(name, getattr(self, name), allowed)
        if ROUND in self.item:
            hint = "An export has a column of that name itself. Rename it in the source, for example in a view."
            raise InvalidArgumentError("item", ROUND, f"a name other than {ROUND}", hint)
        self.counted_in_a_round()

    def _check_who(self) -> None:
        """Refuse bounds that do not go with who is protected and how users count."""
        if self.unit == "event" and self.count == "first":
            hint = "Events are not grouped by user. With the unit user, users count once for each item."
            raise InvalidArgumentError("count", self.count, "left out with the unit event", hint)
        how = self.unit if self.unit == "event" else self.count
        needed, foreign = _BOUNDS[str(how)]
        for name, hint in needed.items():
            if getattr(self, name) is None:
                raise InvalidArgumentError(name, None, f"given with {_SAID[str(how)]}", hint)
        for name, hint in foreign.items():
            if getattr(self, name) is not None:
                raise InvalidArgumentError(name, getattr(self, name), f"left out with {_SAID[str(how)]}", hint)
        if self.count == "first" and self.count_per_item != 1:
            allowed, hint = 'left out with count="first"', "A user counts once for each item."
            raise InvalidArgumentError("count_per_item", self.count_per_item, allowed, hint)

    def _check_period(self) -> None:
        """Refuse a limit per period without a period, and the other way round."""
        if self.unit == "event" and (self.period or self.per_period) is not None:
            hint = "Events are not grouped by user. The unit user has limits."
            raise InvalidArgumentError("period", self.period, "left out with the unit event", hint)
        for name, other in (("period", "per_period"), ("per_period", "period")):
            if getattr(self, name) is None and getattr(self, other) is not None:
                hint = "For example: period=24, per_period=1 for once a day in an hourly stream."
                raise InvalidArgumentError(name, None, f"given with {other}", hint)

    def _check_window(self) -> None:
        """Make a window of time one of rounds, and refuse windows that do not go with the rest."""
        if isinstance(self.window, str):
            if self.round_length is None:
                hint = "For example: round_length='1 hour', window='1 day'. Or give a number of rounds."
                raise InvalidArgumentError("round_length", None, "given with a window of time", hint)
            rounds = duration("window", self.window) / duration("round_length", self.round_length)
            if rounds != int(rounds):
                allowed = f"a whole number of rounds of {self.round_length} each"
                raise InvalidArgumentError("window", self.window, allowed)
            object.__setattr__(self, "window", int(rounds))
        if self.window is not None and int(self.window) % self.release_every:
            allowed = f"a number of rounds that {self.release_every:,}, the rounds of a release, divides"
            raise InvalidArgumentError("window", self.window, allowed)
        users = self.window is not None and self.unit == "user"
        if users and (self.count != "first" or self.period is not None):
            hint = "With windows, a user counts once for each item in each window."
            name = "period" if self.count == "first" else "rounds_per_user"
            raise InvalidArgumentError(name, getattr(self, name), "left out with windows", hint)
        if users and self.windows_per_user is None:
            hint = "It is the most windows that one user counts in; each of them is paid for."
            raise InvalidArgumentError("windows_per_user", None, "given with windows and the unit user", hint)
        if not users and self.windows_per_user is not None:
            allowed, hint = "left out without windows of users", "Windows of events cost no more than one of them."
            raise InvalidArgumentError("windows_per_user", self.windows_per_user, allowed, hint)

    @property
    def counted_rounds(self) -> int:
        """How many rounds are counted together: those of a window, or all."""
        return self.rounds if self.window is None else int(self.window)

    def window_of(self, number: int) -> int:
        """Return the number of the window that a round lies in, from 0."""
        return (number - 1) // self.counted_rounds

    def in_window(self, number: int) -> int:
        """Return which round of its window a round is, from 1."""
        return (number - 1) % self.counted_rounds + 1

    @property
    def last_release(self) -> int:
        """The round after which the last release is due, in a window of its own."""
        return self.counted_rounds // self.release_every * self.release_every

    @property
    def sensitivity(self) -> Sensitivity:
        """The most that one unit adds in one round; with count "first", in all rounds together."""
        return Sensitivity(self.items_per_user or self.items_per_event, self.count_per_item)

    @property
    def limit(self) -> Limit:
        """How much of one user counts: items where a user counts once for each, rounds otherwise."""
        most = self.items_per_user or self.rounds_per_user or 1
        if self.windows_per_user is not None:
            return WindowLimit(most, self.counted_rounds, windows=self.windows_per_user)
        return Limit(most, self.period, self.per_period)

    @property
    def protected(self) -> str:
        """Who is protected, as a ledger calls it. An event is less than a user, and is called otherwise."""
        if self.unit == "user":
            return self.user
        return f"{self.user} in one round" if self.round_length is None else f"{self.user} in {self.round_length}"

    @property
    def protection(self) -> str:
        """Who is protected and what is bounded, as a sentence says it."""
        if self.unit == "event":
            return f"one user's rows in one round, at most {_items(self.items_per_event)} in each round"
        if self.count == "first":
            said = f"one user, who counts once for each of at most {_items(self.items_per_user)} in all rounds"
            if self.windows_per_user is not None:
                said = said.replace("all rounds", f"each of at most {self.windows_per_user:,} windows")
        else:
            said = (
                f"one user, who counts in at most {self.rounds_per_user:,} rounds, at most "
                f"{_items(self.items_per_event)} in each"
            )
        if self.period is None:
            return said
        return f"{said}, {self.per_period:,} of them in {self.period:,} rounds"

    @property
    def counts(self) -> str:
        """What is counted, as a noun: an event is one user's rows in one round."""
        if self.count == "first":
            return "users"
        return "rows" if self.count_per_item > 1 else "events"

    def counted_in_a_round(self) -> CountQuery:
        """Return what is asked of every round."""
        several = self.count_per_item > 1
        return CountQuery(
            self.item,
            count="rows" if several else "users",
            rows_per_item=self.count_per_item if several else None,
            items_per_user=self.items_per_user or self.items_per_event,
            where=self.where,
            max_label_bytes=self.max_label_bytes,
        )
