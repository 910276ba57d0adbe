"""Calendar periods: an account's allowance may start anew each day, week, month or year.

Its lifetime total never does. A period is named by its calendar name in UTC, such as `2026-11`, and later
periods have later names. The ledger's clock never moves back: each entry is at least as late as the one before,
so an allowance cannot be had twice by turning a machine's clock.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from unlisted.errors import InvalidArgumentError

Period = Literal["day", "week", "month", "year"]


def period_of(period: Period, time: datetime) -> str:
    """Return the name of the period that a moment lies in."""
    if period == "week":
        year, week, _ = time.isocalendar()
        return f"{year:04d}-W{week:02d}"
    return time.strftime({"day": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}[period])


def read_period(value: str | None) -> Period | None:
    """Read the name of a kind of period."""
    if value is None:
        return None
    for period in get_args(Period):
        if value == period:
            return period  # type: ignore[no-any-return]
    raise InvalidArgumentError("period", value, "day, week, month or year")
