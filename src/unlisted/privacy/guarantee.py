"""What is promised: δ-approximate ρ-zCDP, and other statements beside it where they are proved.

Composition is one line, for every mechanism alike: ρ adds, δ adds. (The exact 1 - Π(1-δᵢ) is smaller by less than
the square of the sum; the sum keeps amounts short and exact, and a thousand additions equal one multiplication.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.privacy.convert import delta_cks_up, epsilon_cks_up
from unlisted.privacy.numbers import Number, exact, failure_probability, not_negative, positive, whole
from unlisted.privacy.rounding import round_down

LARGEST_BUDGET = 10**6
DEFAULT_DELTA = Fraction(1, 10**8)
"""The δ where none is said: far below one in the number of users of nearly every table."""
_EVEN_DIGITS = 12


@dataclass(frozen=True)
class EpsilonDelta:
    """(ε, δ)-differential privacy, proved directly and not by conversion from ρ.

    Args:
        epsilon: how much likelier an answer may become, as an exponent.
        delta: the probability with which that may fail.

    Examples:
        >>> ul.EpsilonDelta(1, 1e-8) + ul.EpsilonDelta(1, 1e-8)
        EpsilonDelta(epsilon=Fraction(2, 1), delta=Fraction(1, 50000000))

    Theorem: basic composition; both add.
    """

    epsilon: Fraction
    delta: Fraction

    if TYPE_CHECKING:
        # Numbers of any kind are read; the fields hold them exactly.
        def __init__(self, epsilon: Number, delta: Number) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", not_negative("epsilon", self.epsilon))
        object.__setattr__(self, "delta", _at_most_one(self.delta))

    def __add__(self, other: EpsilonDelta) -> EpsilonDelta:
        return EpsilonDelta(self.epsilon + other.epsilon, min(Fraction(1), self.delta + other.delta))


@dataclass(frozen=True)
class Guarantee:
    """δ-approximate ρ-zCDP, with `direct` an (ε, δ) statement of the same mechanism where one is proved.

    With `mu_squared` it is also δ-approximate √μ²-Gaussian DP, at the same δ (`noise/gaussian/gaussian_dp.md`);
    that is said where an account counts it.

    Guarantees: `a + b` holds for a and b run one after the other, b chosen knowing a's answer; `n * a` equals n
    additions; `a.covers(b)` is true only if whoever was promised b has everything that a says.

    Args:
        rho: ρ of zCDP.
        delta: the probability of the failure event.
        direct: an (ε, δ) that was proved without ρ.
        mu_squared: μ² of Gaussian DP.

    Examples:
        >>> one = ul.Guarantee(rho="0.01", delta=1e-9)
        >>> (one + one).rho
        Fraction(1, 50)
        >>> float(round(one.epsilon(at_delta=1e-8), 3))
        0.755

    Theorem: composition of approximate zCDP, also of questions that depend on answers, and conversion to (ε, δ)
    (`privacy/lemma.md`, sections 5 and 6).
    """

    rho: Fraction
    delta: Fraction
    direct: EpsilonDelta | None = None
    mu_squared: Fraction | None = None

    if TYPE_CHECKING:
        # Numbers of any kind are read; the fields hold them exactly.
        def __init__(
            self,
            rho: Number,
            delta: Number,
            direct: EpsilonDelta | None = None,
            mu_squared: Number | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", not_negative("rho", self.rho))
        object.__setattr__(self, "delta", _at_most_one(self.delta))
        if self.mu_squared is not None:
            object.__setattr__(self, "mu_squared", not_negative("mu_squared", self.mu_squared))

    @staticmethod
    def nothing() -> Guarantee:
        """Return the guarantee of a mechanism that looks at no data."""
        return Guarantee(Fraction(0), Fraction(0), EpsilonDelta(Fraction(0), Fraction(0)), Fraction(0))

    def __add__(self, other: Guarantee) -> Guarantee:
        both = self.direct + other.direct if self.direct and other.direct else None
        moved = None if self.mu_squared is None or other.mu_squared is None else self.mu_squared + other.mu_squared
        return Guarantee(self.rho + other.rho, min(Fraction(1), self.delta + other.delta), both, moved)

    def __mul__(self, times: int) -> Guarantee:
        n = whole("times", times, at_least=0)
        if n == 0:
            return Guarantee.nothing()
        direct = self.direct and EpsilonDelta(n * self.direct.epsilon, min(Fraction(1), n * self.direct.delta))
        moved = None if self.mu_squared is None else n * self.mu_squared
        return Guarantee(n * self.rho, min(Fraction(1), n * self.delta), direct, moved)

    __rmul__ = __mul__

    def covers(self, other: Guarantee) -> bool:
        """Return whether every statement made here follows from `other`.

        Args:
            other: the guarantee that has been proved.
        """
        if other.rho > self.rho or other.delta > self.delta:
            return False
        if self.mu_squared is not None and (other.mu_squared is None or other.mu_squared > self.mu_squared):
            return False
        return self.direct is None or other.implies(self.direct.epsilon, self.direct.delta)

    def implies(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return whether (ε, δ)-DP follows, by whichever statement shows it.

        Args:
            epsilon: the ε of the statement in question.
            delta: its δ.
        """
        if self.direct and self.direct.epsilon <= epsilon and self.direct.delta <= delta:
            return True
        return self.delta <= delta and self.delta + delta_cks_up(self.rho, epsilon) <= delta

    def epsilon(self, at_delta: Number) -> Fraction:
        """Return the smaller ε of the two statements at a total δ, rounded up.

        Args:
            at_delta: the δ of the (ε, δ) statement, all failures included.
        """
        total = exact("at_delta", at_delta)
        found = []
        if self.direct and self.direct.delta <= total:
            found.append(self.direct.epsilon)
        if self.rho == 0 and self.delta <= total:
            found.append(Fraction(0))
        elif self.delta < total < 1:
            converted = epsilon_cks_up(self.rho, total - self.delta)
            # A budget used to its last digit was proved by δ; by ε, rounding alone would say a little more.
            even = round_down(converted, _EVEN_DIGITS)
            found.append(even if self.implies(even, total) else converted)
        if not found:
            raise InvalidArgumentError(
                "at_delta", at_delta, f"above {float(self.delta):.6g} and below 1", "ε needs a δ of its own."
            )
        return min(found)


@dataclass(frozen=True, init=False)
class Budget:
    """What may be spent, said as (ε, δ), as (ρ, δ) or as (μ², δ); δ is 1e-8 unless said.

    With ε, δ is the total: the threshold and the conversion share it. With ρ or μ², δ is the threshold's alone.
    `accounting` says how an ε follows from what is added up: by zCDP, unless an account of another kind will pay.

    Args:
        delta: the probability with which the guarantee may fail.
        epsilon: ε, for all of the question.
        rho: ρ of zCDP, in place of ε.
        mu_squared: μ² of Gaussian DP, in place of ε.

    Examples:
        >>> ul.Budget(epsilon="0.5", delta=1e-8).epsilon
        Fraction(1, 2)

    Theorem: ρ-zCDP converts to (ε, δ) as Canonne, Kamath and Steinke show (`privacy/lemma.md`, section 6).
    """

    delta: Fraction
    epsilon: Fraction | None
    rho: Fraction | None
    mu_squared: Fraction | None = field(default=None, repr=False)
    accounting: Accounting = field(default=ZCDP, repr=False)

    def __init__(
        self,
        *,
        delta: Number = DEFAULT_DELTA,
        epsilon: Number | None = None,
        rho: Number | None = None,
        mu_squared: Number | None = None,
    ) -> None:
        amounts = {"epsilon": epsilon, "rho": rho, "mu_squared": mu_squared}
        if sum(amount is not None for amount in amounts.values()) != 1:
            said = tuple(amount for name, amount in amounts.items() if name != "mu_squared" or amount is not None)
            raise InvalidArgumentError("epsilon, rho", said, "exactly one of the two", "Say Budget(epsilon=1).")
        object.__setattr__(self, "delta", failure_probability("delta", delta))
        for name, amount in amounts.items():
            object.__setattr__(self, name, None if amount is None else _meaningful(name, amount))
        object.__setattr__(self, "accounting", ZCDP)

    @classmethod
    def of_loss(cls, accounting: Accounting, loss: Fraction, delta: Fraction) -> Budget:
        """Return a budget said in what is counted.

        Args:
            accounting: what the account adds up: ρ, or μ² in Gaussian DP.
            loss: how much of it may be spent.
            delta: the probability of failure that may be spent.
        """
        return cls(**{accounting.option: loss}, delta=delta).counted_by(accounting)

    def counted_by(self, accounting: Accounting) -> Budget:
        """Return the same budget, for an account that adds up in this way.

        Args:
            accounting: what the account adds up: ρ, or μ² in Gaussian DP.
        """
        counted = object.__new__(Budget)
        for name in ("delta", "epsilon", "rho", "mu_squared"):
            object.__setattr__(counted, name, getattr(self, name))
        object.__setattr__(counted, "accounting", accounting)
        return counted

    def allows(self, guarantee: Guarantee) -> bool:
        """Return whether a mechanism with this guarantee stays inside the budget.

        Args:
            guarantee: what the mechanism guarantees.
        """
        if self.epsilon is not None:
            return self.accounting.implies(guarantee, self.epsilon, self.delta)
        if self.rho is not None:
            return guarantee.rho <= self.rho and guarantee.delta <= self.delta
        moved = guarantee.mu_squared
        return moved is not None and moved <= (self.mu_squared or 0) and guarantee.delta <= self.delta


def _meaningful(argument: str, amount: Number) -> Fraction:
    """Refuse a budget so large that it protects nobody; searching with it would only overflow."""
    if positive(argument, amount) > LARGEST_BUDGET:
        raise InvalidArgumentError(
            argument, amount, f"at most {LARGEST_BUDGET:,}", "Above that, nobody is protected."
        )
    return positive(argument, amount)


def _at_most_one(delta: Fraction) -> Fraction:
    d = exact("delta", delta)
    if not 0 <= d <= 1:
        raise InvalidArgumentError("delta", delta, "between 0 and 1")
    return d
