"""Accounts in Gaussian DP: how μ² is charged, converted and calibrated for. Proved in gaussian_dp.md.

`ACCOUNTINGS` names the two kinds of account that there are.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian.gaussian_dp import (
    epsilon_gaussian_up,
    mu_squared_down,
    mu_squared_of_epsilon_up,
    mu_squared_of_range_up,
    range_of_mu_squared_down,
    variance_of_mu_squared_up,
)
from unlisted.noise.gaussian.normal import normal_delta_up
from unlisted.privacy.accounting import ZCDP, Accounting, Costs, Priced
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.rounding import round_down

_SHORT = 9
"""Digits of an ε that is stated."""


class _GaussianDP(Accounting):
    name = "gaussian"
    title = "Gaussian DP"
    symbol = "μ²"
    option = "mu_squared"
    # An ε that is added up costs several times the μ² of normal noise for the same (ε, δ).
    adds_epsilon = False

    def price(self, mechanism: Priced) -> Fraction | None:
        return mechanism.mu_squared()

    def charge(self, guarantee: Guarantee) -> tuple[Fraction, Fraction]:
        if guarantee.mu_squared is not None:
            return guarantee.mu_squared, guarantee.delta
        if guarantee.direct is not None:
            # Both statements hold at the larger δ.
            delta = max(guarantee.delta, guarantee.direct.delta)
            return mu_squared_of_epsilon_up(guarantee.direct.epsilon), delta
        raise InvalidArgumentError(
            "mechanism",
            "one without a μ²",
            "one that says its μ², or an ε of its own, to be paid from an account of kind 'gaussian'",
            "No μ² follows from a ρ alone: ask from an account of kind 'zcdp'. Nothing was charged.",
        )

    def implies(self, guarantee: Guarantee, epsilon: Fraction, delta: Fraction) -> bool:
        loss, failure = self.charge(guarantee)
        return failure <= delta and failure + normal_delta_up(loss, epsilon) <= delta

    def guarantee(self, loss: Fraction, delta: Fraction) -> Guarantee:
        # What is √μ²-Gaussian is also μ²/2-zCDP.
        return Guarantee(loss / 2, delta, mu_squared=loss)

    def spent(self, mechanism: Costs, spent: Guarantee, draws: int | None) -> Guarantee:
        used = mechanism.mu_squared(draws)
        if used is not None:
            return Guarantee(spent.rho, spent.delta, mu_squared=used)
        # What is derived from an ε is derived for all of it.
        loss, delta = self.charge(mechanism.guarantee())
        return Guarantee(spent.rho, delta, mu_squared=loss)

    def ceiling(self, mechanism: Costs, at_delta: Fraction) -> Guarantee:
        guarantee = mechanism.full_guarantee()
        loss, failure = self.charge(guarantee)
        direct = guarantee.direct
        if failure < at_delta < 1:
            epsilon = epsilon_gaussian_up(loss, at_delta - failure)
            # The end of a search is a hair too high; a shorter number is taken where it was seen to hold.
            shorter = round_down(epsilon, _SHORT)
            if failure + normal_delta_up(loss, shorter) <= at_delta:
                epsilon = shorter
            if direct is None or direct.delta > at_delta or direct.epsilon > epsilon:
                direct = EpsilonDelta(epsilon, at_delta)
        return replace(guarantee, delta=failure, direct=direct, mu_squared=loss)

    def delta_up(self, loss: Fraction, epsilon: Fraction) -> Fraction:
        return normal_delta_up(loss, epsilon)

    def epsilon_up(self, loss: Fraction, delta: Fraction) -> Fraction:
        return epsilon_gaussian_up(loss, delta)

    def loss_down(self, epsilon: Fraction, delta: Fraction) -> Fraction:
        return mu_squared_down(epsilon, delta)

    def draw_up(self, bounded_range: Fraction) -> Fraction:
        return mu_squared_of_range_up(bounded_range)

    def range_down(self, loss: Fraction) -> Fraction:
        return range_of_mu_squared_down(loss)

    def variance_up(self, squared: int, moved: int, loss: Fraction) -> Fraction:
        return variance_of_mu_squared_up(squared, moved, loss)


GAUSSIAN: Accounting = _GaussianDP()
"""δ-approximate √μ²-Gaussian DP: 9 to 13 % more Gaussian questions fit into the same (ε, δ)."""

ACCOUNTINGS: dict[str, Accounting] = {one.name: one for one in (ZCDP, GAUSSIAN)}
"""The kinds of account, by name."""


def read_kind(kind: object) -> Accounting:
    """Read the name of a kind of account."""
    found = ACCOUNTINGS.get(kind) if isinstance(kind, str) else None
    if found is None:
        raise InvalidArgumentError("kind", kind, " or ".join(repr(name) for name in ACCOUNTINGS))
    return found
