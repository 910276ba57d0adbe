"""Moments and durations as a caller says them: a date, a time, "24h"."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from unlisted.errors import InvalidArgumentError

Moment = str | date | datetime
"""A point in time: text such as 2026-03-01 or 2026-03-01T15:00, a date or a datetime. Without a zone it is UTC."""

Duration = str | timedelta
"""A length of time: text such as 24h, 90m, 7d or "1 day", or a timedelta."""

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WORDS = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "day": "d", "week": "w"}
_SAID = re.compile(r"\s*(\d{1,9})\s*([A-Za-z]+)\s*")
_DAY = timedelta(days=1)
_LEAST = timedelta(microseconds=1)


def moment(argument: str, value: object, *, is_end: bool = False) -> datetime:
    """Read a point in time, as UTC. A bare date is its first moment; as the end of a span it is its last."""
    try:
        said = value
        if isinstance(said, str):
            said = date.fromisoformat(said) if _is_date(said) else datetime.fromisoformat(said)
        if isinstance(said, datetime):
            return (said if said.tzinfo is not None else said.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(said, date):
            first = datetime(said.year, said.month, said.day, tzinfo=UTC)
            return first + _DAY - _LEAST if is_end else first
    except (ValueError, OverflowError):
        pass
    hint = "Without a time zone it is UTC."
    raise InvalidArgumentError(argument, value, "a time such as 2026-03-01 or 2026-03-01T15:00", hint)


def duration(argument: str, value: object) -> timedelta:
    """Read a length of time."""
    found = value if isinstance(value, timedelta) else None
    if isinstance(value, str) and (said := _SAID.fullmatch(value)):
        word = said[2].lower()
        unit = word if word in _UNITS else _WORDS.get(word.removesuffix("s"))
        found = None if unit is None else timedelta(**{_UNITS[unit]: int(said[1])})
    if found is None or found <= timedelta(0):
        raise InvalidArgumentError(argument, value, 'a length of time such as 24h, 90m, 7d or "1 day"')
    return found


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) is not None
