"""The ledger's store is an extra, slower to import than a small question is to answer: only on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unlisted.errors import InvalidArgumentError

if TYPE_CHECKING:
    from unlisted.ledger.ledger import Ledger


def ledger_class() -> type[Ledger]:
    """Import `Ledger`, or say what to install."""
    try:
        from unlisted.ledger.ledger import Ledger  # noqa: PLC0415
    except ModuleNotFoundError:
        hint = 'Run: pip install "unlisted[ledger]"'
        raise InvalidArgumentError("ledger", "no SQLAlchemy", "used with SQLAlchemy installed", hint) from None
    return Ledger
