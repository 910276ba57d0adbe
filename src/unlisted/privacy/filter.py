"""A filter: the budget of questions whose parameters may depend on every earlier answer.

The rule that makes adaptivity safe is one comparison: before anything is drawn, the question's ceiling must fit
into what is left. What a mechanism then *proves* it did not use may come back (only pay-what-you-get does); a
reservation that is never settled stays spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from unlisted.errors import BudgetRefusedError, InvalidArgumentError
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee


@dataclass(frozen=True, eq=False)
class Reservation:
    """A ceiling taken out of a filter before data is touched. Each is settled at most once."""

    ceiling: Guarantee


class Filter:
    """A total (ρ, δ) that no sequence of adaptively chosen guarantees can exceed.

    Guarantees: after any history, the settled and reserved amounts together are at most the total, so the answers
    given are δ-approximate ρ-zCDP for the total (ρ, δ), in the good-part form (ρ and δ add under composition).
    """

    def __init__(self, total: Guarantee) -> None:
        self.total = Guarantee(total.rho, total.delta)
        self._settled = Guarantee(Fraction(0), Fraction(0))
        self._open: list[Reservation] = []

    @property
    def spent(self) -> Guarantee:
        """What was settled, and every ceiling still reserved."""
        spent = self._settled
        for reservation in self._open:
            spent = spent + _rho_delta(reservation.ceiling)
        return spent

    @property
    def left(self) -> Guarantee:
        """What a next question may still cost."""
        spent = self.spent
        return Guarantee(self.total.rho - spent.rho, self.total.delta - spent.delta)

    def reserve(self, ceiling: Guarantee) -> Reservation:
        """Take a ceiling out of the budget, or refuse at no cost."""
        left = self.left
        if not left.covers(ceiling):
            raise BudgetRefusedError(_refusal(ceiling, left))
        reservation = Reservation(ceiling)
        self._open.append(reservation)
        return reservation

    def settle(self, reservation: Reservation, used: Guarantee) -> None:
        """Replace a reservation by what was used, which is never more than its ceiling."""
        if not any(reservation is one for one in self._open):
            raise InvalidArgumentError("reservation", "settled before", "one that is still open")
        if not _rho_delta(reservation.ceiling).covers(_rho_delta(used)):
            raise InvalidArgumentError("used", used.rho, "at most the reserved ceiling")
        self._open = [one for one in self._open if one is not reservation]
        self._settled = self._settled + _rho_delta(used)


class EpsilonFilter:
    """A total (ε, δ) that no sequence of adaptively chosen (ε, δ) statements can exceed, by basic composition.

    Guarantees: after any history, what was spent is at most the total in ε and in δ, so the answers given together
    are (ε, δ)-DP for the total (`lemma.md`, section 5). Nothing comes back.
    """

    def __init__(self, total: EpsilonDelta) -> None:
        self.total = total
        self.spent = EpsilonDelta(Fraction(0), Fraction(0))

    def require(self, cost: EpsilonDelta) -> EpsilonDelta:
        """Return what will be spent after a question, or refuse it at no cost."""
        after = EpsilonDelta(self.spent.epsilon + cost.epsilon, self.spent.delta + cost.delta)
        if after.epsilon > self.total.epsilon or after.delta > self.total.delta:
            raise BudgetRefusedError(_epsilon_refusal(cost, self.total, self.spent))
        return after

    def spend(self, cost: EpsilonDelta) -> None:
        """Charge a question before its data is touched."""
        self.spent = self.require(cost)


def _epsilon_refusal(cost: EpsilonDelta, total: EpsilonDelta, spent: EpsilonDelta) -> str:
    left = EpsilonDelta(total.epsilon - spent.epsilon, total.delta - spent.delta)
    if cost.epsilon > left.epsilon:
        return (
            f"The question costs ε = {float(cost.epsilon):.6g}, but only ε = {float(left.epsilon):.6g} of "
            f"{float(total.epsilon):.6g} is left. Ask with a smaller ε; nothing was charged."
        )
    return (
        f"The question costs δ = {float(cost.delta):.3g}, but only δ = {float(left.delta):.3g} of "
        f"{float(total.delta):.3g} is left. Leave its delta out, or say a smaller one; nothing was charged."
    )


def _rho_delta(guarantee: Guarantee) -> Guarantee:
    """Keep the track that a filter adds up."""
    return Guarantee(guarantee.rho, guarantee.delta)


def _refusal(asked: Guarantee, left: Guarantee) -> str:
    return (
        f"The question may cost ρ = {float(asked.rho):.6g} and δ = {float(asked.delta):.6g}, but only "
        f"ρ = {float(left.rho):.6g} and δ = {float(left.delta):.6g} are left. Ask for fewer results, a smaller ε "
        "or a smaller δ; nothing was charged."
    )
