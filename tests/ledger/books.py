"""Ledgers to test with: on a real SQLite file and on a real PostgreSQL, with a clock that can be turned."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from unlisted import Budget, Guarantee
from unlisted.bills import Bill


class Clock:
    """A clock that stands still until it is moved, forwards or backwards."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, **by: float) -> None:
        self.time += timedelta(**by)


def cost(rho: str, delta: str = "1e-9") -> Guarantee:
    return Guarantee(Fraction(rho), Fraction(delta))


def budget(rho: str = "1", delta: str = "1e-6") -> Budget:
    return Budget(rho=rho, delta=delta)


def bill(name: str, rho: str = "0.1", delta: str = "1e-9", **changed: object) -> Bill:
    fields = {
        "ceiling": cost(rho, delta),
        "question": name,
        "unit": "user",
        "adjacency": "add_remove",
        "source": "searches.parquet",
    }
    return Bill(**{**fields, **changed})


def delivers(release: bytes = b"a release", used: Guarantee | None = None, rho: str = "0.1"):
    """Return a delivery that always succeeds; it says what it used, or the whole ceiling."""
    return lambda: (release, used or cost(rho))
