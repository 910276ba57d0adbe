"""Where a budget stands, as numbers that a page can draw: parts of a whole, and amounts rounded against us."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from unlisted.ledger.amounts import Amount
from unlisted.ledger.state import Balance, DatasetState, Failures
from unlisted.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Part:
    """Of one amount, ρ or δ: the total, what is gone (spent or reserved), what may still be spent."""

    total: Fraction
    gone: Fraction
    left: Fraction

    @property
    def share(self) -> float:
        """The part of the total that is gone, between 0 and 1."""
        return float(self.gone / self.total) if self.total else 1.0

    def share_of(self, cost: Fraction) -> float:
        """Return the part of the total that a cost would take."""
        return float(cost / self.total) if self.total else 1.0


@dataclass(frozen=True)
class Standing:
    """Where an account stands, within the data set that it shares with others.

    `left` is the least of what account, period and data set still allow: what a next question may cost.
    """

    account: str
    closed: bool
    rho: Part
    delta: Part
    left: Guarantee
    failures: Failures
    dataset_frozen: bool

    @property
    def frozen(self) -> bool:
        """Whether too many questions failed, of the account or of all accounts together."""
        return self.failures.frozen or self.dataset_frozen

    def after(self, cost: Guarantee) -> Guarantee | None:
        """Return what is left when a cost is taken out; None if it does not fit."""
        amount = Amount.charge(cost)
        left = Amount.allowance(self.left.rho, self.left.delta)
        return (left - amount).guarantee() if amount.fits(left) else None


def standing_of(balance: Balance) -> Standing:
    """Return where an account stands."""
    account, left = balance.account, balance.left.guarantee()
    total, gone = account.terms.total.guarantee(), (account.used + account.reserved).guarantee()
    return Standing(
        account=account.name,
        closed=account.closed,
        rho=Part(total.rho, gone.rho, left.rho),
        delta=Part(total.delta, gone.delta, left.delta),
        left=left,
        failures=account.failures,
        dataset_frozen=balance.dataset.failures.frozen,
    )


def dataset_part(dataset: DatasetState) -> Part:
    """Return where the ρ stands that all accounts of a data set share."""
    gone = dataset.used + dataset.reserved
    return Part(dataset.total.guarantee().rho, gone.guarantee().rho, dataset.left.guarantee().rho)
