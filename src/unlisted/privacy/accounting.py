"""What is added up over questions beside δ: the ρ of zCDP, or the μ² of Gaussian DP.

Both add along questions of which each is chosen knowing all answers before, and a total of either converts to
(ε, δ). Which of the two an account counts is fixed when it is opened: to go on while *either* has room is no
filter (`noise/gaussian/gaussian_dp.md`, section 2). Here are zCDP and what both must say;
`noise/gaussian/accounting.py` has the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

from unlisted.privacy.convert import delta_cks_up, epsilon_cks_up, rho_cks_down
from unlisted.privacy.rounding import round_up, sqrt_down

if TYPE_CHECKING:
    from unlisted.privacy.guarantee import Guarantee


class Costs(Protocol):
    """What a whole mechanism costs."""

    def guarantee(self) -> Guarantee:
        """Return the ceiling: ρ, δ, and an (ε, δ) where there is one."""
        ...

    def full_guarantee(self) -> Guarantee:
        """Return the same with its μ²."""
        ...

    def mu_squared(self, draws: int | None = None) -> Fraction | None:
        """Return μ², of so many draws of a ranking if they are said; None where none is proved."""
        ...


class Priced(Protocol):
    """A mechanism that says what its common outcomes cost."""

    def price(self) -> Guarantee:
        """Return ρ, and an ε where there is one; both fall as the noise grows."""
        ...

    def mu_squared(self, draws: int | None = None) -> Fraction | None:
        """Return μ², of so many draws of a ranking if they are said; None where none is proved."""
        ...


class Accounting(ABC):
    """A way to add up. `loss` is what it counts: of a question, of an account, of what is left."""

    name: ClassVar[str]
    """What owners and ledgers call it: the kind of an account."""
    title: ClassVar[str]
    symbol: ClassVar[str]
    option: ClassVar[str]
    """What its loss is called in programs, in JSON and among options."""
    adds_epsilon: ClassVar[bool]
    """Whether a plan for an ε may add up the ε of its parts, whatever that costs in what is counted."""

    def __repr__(self) -> str:
        return self.name

    @abstractmethod
    def price(self, mechanism: Priced) -> Fraction | None:
        """Return the loss of a mechanism's common outcomes; None where none is proved."""

    @abstractmethod
    def charge(self, guarantee: Guarantee) -> tuple[Fraction, Fraction]:
        """Return the loss and the δ of a guarantee; refuse one that says nothing of this loss."""

    @abstractmethod
    def guarantee(self, loss: Fraction, delta: Fraction) -> Guarantee:
        """Return the guarantee that a loss and a δ are."""

    @abstractmethod
    def ceiling(self, mechanism: Costs, at_delta: Fraction) -> Guarantee:
        """Return what a mechanism promises, with its loss, and the ε that follows from it at a total δ."""

    @abstractmethod
    def spent(self, mechanism: Costs, spent: Guarantee, draws: int | None) -> Guarantee:
        """Return what was used of the ceiling, where a mechanism used so much and made so many draws."""

    @abstractmethod
    def implies(self, guarantee: Guarantee, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether (ε, δ)-DP follows from a guarantee."""

    @abstractmethod
    def delta_up(self, loss: Fraction, epsilon: Fraction) -> Fraction:
        """Bound from above the δ at ε of a loss."""

    @abstractmethod
    def epsilon_up(self, loss: Fraction, delta: Fraction) -> Fraction:
        """Bound from above the ε at δ of a loss."""

    @abstractmethod
    def loss_down(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        """Bound from below the largest loss that is still (ε, δ)-DP."""

    @abstractmethod
    def draw_up(self, bounded_range: Fraction) -> Fraction:
        """Bound from above the loss of a draw whose chances change within a factor of e^`bounded_range`."""

    @abstractmethod
    def range_down(self, loss: Fraction) -> Fraction:
        """Bound from below the largest range of a draw with this loss."""

    @abstractmethod
    def variance_up(self, squared: int, moved: int, loss: Fraction) -> Fraction:
        """Bound from above the least variance of discrete Gaussian noise on counts with this loss.

        A user moves them by a vector of squared length `squared`, and at most `moved` of them.
        """


class _ZeroConcentrated(Accounting):
    name = "zcdp"
    title = "zCDP"
    symbol = "ρ"
    option = "rho"
    adds_epsilon = True

    def price(self, mechanism: Priced) -> Fraction:
        return mechanism.price().rho

    def charge(self, guarantee: Guarantee) -> tuple[Fraction, Fraction]:
        return guarantee.rho, guarantee.delta

    def implies(self, guarantee: Guarantee, epsilon: Fraction, delta: Fraction) -> bool:
        return guarantee.implies(epsilon, delta)

    def guarantee(self, loss: Fraction, delta: Fraction) -> Guarantee:
        from unlisted.privacy.guarantee import Guarantee  # noqa: PLC0415 - a guarantee knows budgets, and these us

        return Guarantee(loss, delta)

    def ceiling(self, mechanism: Costs, at_delta: Fraction) -> Guarantee:  # noqa: ARG002
        # A guarantee converts its ρ itself.
        return mechanism.guarantee()

    def spent(self, mechanism: Costs, spent: Guarantee, draws: int | None) -> Guarantee:  # noqa: ARG002
        return replace(spent, direct=None, mu_squared=None)

    def delta_up(self, loss: Fraction, epsilon: Fraction) -> Fraction:
        return delta_cks_up(loss, epsilon)

    def epsilon_up(self, loss: Fraction, delta: Fraction) -> Fraction:
        return epsilon_cks_up(loss, delta)

    def loss_down(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        return rho_cks_down(epsilon, delta)

    def draw_up(self, bounded_range: Fraction) -> Fraction:
        return bounded_range**2 / 8

    def range_down(self, loss: Fraction) -> Fraction:
        return sqrt_down(8 * loss)

    def variance_up(self, squared: int, moved: int, loss: Fraction) -> Fraction:  # noqa: ARG002
        return round_up(squared / (2 * loss))


ZCDP: Accounting = _ZeroConcentrated()
"""δ-approximate ρ-zCDP: every mechanism has a ρ."""
