"""A law of one's own: three answers are enough, and what it does not say is taken as the worst."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.fixtures.known_bits import KnownBits

from unlisted.errors import InvalidArgumentError
from unlisted.noise.bits import Bits
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.law import Law


@dataclass(frozen=True)
class Staircase(Law):
    """Whole steps of a discrete Laplace: the same noise on a coarser lattice."""

    step: int

    def sample(self, n: int, bits: Bits) -> NDArray[np.int64]:
        return self.step * DiscreteLaplace(Fraction(1)).sample(n, bits)

    def tail(self, t: int) -> Fraction:
        return DiscreteLaplace(Fraction(1)).tail(-(-t // self.step))

    def rho(self, shift: int) -> Fraction:
        return DiscreteLaplace(Fraction(1)).rho(-(-shift // self.step))


class Endless(Staircase):
    """A law whose tail never falls."""

    def tail(self, t: int) -> Fraction:
        return Fraction(1, 3)


def test_three_answers_are_enough() -> None:
    law = Staircase(5)
    assert law.tv == 0
    assert law.epsilon(1) is None
    assert set(law.sample(1000, KnownBits("steps")) % 5) == {0}


@pytest.mark.parametrize("p", ["0.4", "1e-3", "1e-8", "1e-30"])
def test_the_quantile_follows_from_the_tail(p: str) -> None:
    law = Staircase(5)
    t = law.quantile(Fraction(p))
    assert law.tail(t) <= Fraction(p) < law.tail(t - 1)
    assert t % 5 == 1


def test_the_quantile_is_never_negative() -> None:
    assert Staircase(5).quantile(Fraction(99, 100)) == 0


@pytest.mark.parametrize("p", [float("nan"), None, "x", True])
def test_a_quantile_of_nothing_is_refused(p: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^p = .+ a finite number"):
        Staircase(5).quantile(p)  # type: ignore[arg-type]


def test_a_tail_that_never_falls_ends_the_search() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^p = 0.01 .+ a tail that the noise can fall below"):
        Endless(1).quantile(Fraction(1, 100))


def test_a_law_without_its_answers_cannot_be_made() -> None:
    class Silent(Law):
        def tail(self, t: int) -> Fraction:
            return Fraction(1)

    with pytest.raises(TypeError, match="abstract"):
        Silent()  # type: ignore[abstract]
