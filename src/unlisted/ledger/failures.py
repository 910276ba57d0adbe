"""Failures of the store that the ledger itself must tell apart; to everybody else they are a `LedgerError`."""

from __future__ import annotations

from unlisted.errors import LedgerError


class RowChangedError(LedgerError):
    """A row to change is not as it was. The transaction that found it out writes nothing."""


class UncertainError(LedgerError):
    """Nobody can say whether what was to be written was: the store went away while it was asked to keep it."""

    @classmethod
    def because(cls, reason: str) -> UncertainError:
        """Say why, and how to find out."""
        return cls(
            f"The ledger could not be used: {reason}. It may or may not have been booked: look for it in "
            "`unlisted ledger history` before you try again. What was booked stays spent."
        )
