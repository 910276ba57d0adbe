"""A question that ends at a fixed time: what the ledger writes then tells no more than the reply does.

The ledger's entries have a time, a balance says what is still reserved, and a release says when it was made. All
of them would tell how long a count took. So the end of a question waits here, after data was touched and before
the ledger hears of it, whether it went well or not.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from threading import Event

from unlisted.privacy.guarantee import Guarantee
from unlisted.query.charging import Bill, Deliver, Paid, Payer
from unlisted.release.release import Release


@dataclass(frozen=True)
class FixedTime:
    """When a question ends, by `time.monotonic`; at once if the service stops. `counted` is told when it waits."""

    ends: float
    stopping: Event
    counted: Callable[[], object]

    def wait(self) -> None:
        """Wait in this thread."""
        self.counted()
        self.stopping.wait(max(0.0, self.ends - time.monotonic()))


@dataclass(frozen=True)
class PaysAtFixedTime:
    """An account whose reservations are settled, or forfeited, at a fixed time."""

    account: Payer
    moment: FixedTime

    @property
    def name(self) -> str:
        """The account's name."""
        return self.account.name

    @property
    def result_epsilon(self) -> Fraction | None:
        """The ε of one result, if the account was opened with one."""
        return self.account.result_epsilon

    @property
    def question_delta(self) -> Fraction | None:
        """The δ of one question, if the account was opened with one."""
        return self.account.question_delta

    def has_answered(self, bill: Bill, idempotency_key: str | None = None) -> bool:
        """Return what the account says."""
        return self.account.has_answered(bill, idempotency_key)

    def pay(self, bill: Bill, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        """Answer a question as the account does, but let the delivery last until its time."""

        def lasting() -> tuple[bytes, Guarantee]:
            try:
                data, used = deliver()
            finally:
                self.moment.wait()
            # It was made earlier, and how much earlier must not be read in it.
            return replace(Release.from_bytes(data), time=datetime.now(UTC)).to_bytes(), used

        return self.account.pay(bill, lasting, idempotency_key)
