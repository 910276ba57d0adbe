"""Failures of the store that the ledger itself must tell apart; to everybody else they are a `LedgerError`."""

from __future__ import annotations

from unlisted.errors import LedgerError


class RowChangedError(LedgerError):
    """A row to change is not as it was. The transaction that found it out writes nothing."""
