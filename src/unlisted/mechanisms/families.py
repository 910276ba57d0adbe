"""The two kinds of noise that every thresholded mechanism can be calibrated with."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Literal, TypeVar

from unlisted.errors import InvalidArgumentError
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.privacy.calibrate import Family, SelfPriced

Noise = Literal["auto", "laplace", "gaussian"]
M = TypeVar("M", bound=SelfPriced)
OurLaw = DiscreteGaussian | DiscreteLaplace


def families(noise: Noise, build: Callable[[OurLaw, int], M]) -> list[Family[M]]:
    """Return the families to choose from: both for `auto`, else the one that was named."""

    def laplace(scale: Fraction, threshold: int) -> M:
        return build(DiscreteLaplace(scale), threshold)

    def gaussian(variance: Fraction, threshold: int) -> M:
        return build(DiscreteGaussian(variance), threshold)

    both = {
        "laplace": Family("discrete Laplace", laplace, lambda scale: DiscreteLaplace(scale).stddev),
        "gaussian": Family("discrete Gaussian", gaussian, lambda scale: DiscreteGaussian(scale).stddev),
    }
    if noise == "auto":
        return list(both.values())
    if noise not in both:
        raise InvalidArgumentError("noise", noise, "'auto', 'laplace' or 'gaussian'")
    return [both[noise]]
