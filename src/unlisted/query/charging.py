"""Between a plan and whoever pays for it: what a question may cost, and what was paid.

A plan knows its ceiling and how to be answered; a ledger knows what is left. Neither knows the other: a plan
hands over a `Charge` and a way to deliver, and gets back what was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.accounting import Accounting
from unlisted.privacy.guarantee import Guarantee
from unlisted.release.release import Release
from unlisted.release.serialize import receipt_digest

DIGEST, SIGNED_BY, SIGNATURE = "receipt_sha256", "signed_by", "signature"
"""What a stamp calls the digest of all that its receipt says, the public key, and what was signed with it."""


@dataclass(frozen=True)
class Charge:
    """What a question costs at most, and what it is.

    `question` names it: equal questions have equal names. `unit`, `adjacency` and `source` must be the data
    set's. `result` is what one result costs and `result_epsilon` its ε, for questions that pay for what they
    get. Both guarantees say what the account counts. `kind` and `items_per_user` are what an owner may limit, and
    `words` tell people which question it was, also if it is never answered.
    """

    ceiling: Guarantee
    question: str
    unit: str
    adjacency: str
    source: str
    result: Guarantee | None = None
    result_epsilon: Fraction | None = None
    kind: str = ""
    items_per_user: int | None = None
    words: str = ""


@dataclass(frozen=True)
class Paid:
    """A release as it was stored, and the entry that settled it: now, or when the question was first asked.

    `version` is that of the data, `spent` the exact amounts, and `sign` the ledger's signature. What a service
    sends has a stamp already: `given`.
    """

    release: bytes
    dataset: str
    account: str
    number: int
    hash: str
    version: str | None = None
    spent: Mapping[str, str] = field(default_factory=dict)
    sign: Callable[[Mapping[str, Any]], Mapping[str, str]] | None = field(default=None, repr=False, compare=False)
    given: Mapping[str, Any] | None = None

    @property
    def stamp(self) -> dict[str, Any]:
        """What a receipt says of the entry, so that a ledger cut short or restored from a copy is found."""
        return self._signed({})

    def stamped(self, release: Release) -> Release:
        """Return the release that was paid for, with a stamp that vouches for every word of its receipt."""
        return replace(release, stamp=self._signed({DIGEST: receipt_digest(release.receipt())}))

    def _signed(self, more: Mapping[str, str]) -> dict[str, Any]:
        if self.given is not None:
            # Signed where the ledger is.
            return dict(self.given)
        named = {"dataset": self.dataset, "account": self.account, "entry": self.number, "hash": self.hash}
        said = {**named, "version": self.version, **self.spent, **more}
        return said if self.sign is None else {**said, **self.sign(said)}


Deliver = Callable[[], tuple[bytes, Guarantee]]
"""Touches the data; returns the release as bytes and what it really used."""


@runtime_checkable
class Payer(Protocol):
    """Someone who may spend: an account of a ledger."""

    @property
    def name(self) -> str:
        """The account's name."""
        ...

    @property
    def accounting(self) -> Accounting:
        """What the account counts: ρ, or μ²."""
        ...

    @property
    def result_epsilon(self) -> Fraction | None:
        """The ε of one result, if the account was opened with one."""
        ...

    @property
    def question_delta(self) -> Fraction | None:
        """The δ of one question, if the account was opened with one."""
        ...

    def has_answered(self, charge: Charge, idempotency_key: str | None = None) -> bool:
        """Return whether a question would be answered from the store: then no data will be touched for it."""
        ...

    def pay(self, charge: Charge, deliver: Deliver, idempotency_key: str | None = None) -> Paid:
        """Answer a question: from the store if it was answered before, else by reserving, running, settling."""
        ...


def require_payer(account: object) -> Payer | None:
    """Refuse what is no account: a name alone pays nothing."""
    if account is None or isinstance(account, Payer):
        return account
    hint = 'For example: ul.Ledger("budget.db").account("ads-team").'
    raise InvalidArgumentError("account", account, "an account of a ledger", hint)
