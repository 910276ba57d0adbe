"""The durable budget: data sets, accounts, immutable entries, and a balance that is a fold over them.

Its store is an extra, slower to import than a small question is to answer: `Ledger` is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from unlisted.errors import MissingExtraError

if TYPE_CHECKING:
    from unlisted.ledger.ledger import Ledger as _Ledger


def ledger_class() -> type[_Ledger]:
    """Import `Ledger`, or say what to install."""
    try:
        from unlisted.ledger.ledger import Ledger  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtraError("A ledger", "SQLAlchemy", "ledger") from None
    return Ledger


class _Absent:
    """Stands for `ul.Ledger` where SQLAlchemy is not installed, and says so when it is used."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        ledger_class()
        raise AssertionError  # it is absent, so the line above raised


def __getattr__(name: str) -> Any:
    if name != "Ledger":
        raise AttributeError(name)
    try:
        return ledger_class()
    except MissingExtraError:
        return _Absent()
