"""The lowest threshold for an (ε, δ) budget that is spent at once, where the δ of the whole mechanism is known.

A mechanism that can state its own δ at ε needs no conversion and no share of δ set aside for one. At a given
threshold its δ first falls with the noise, which hides what moves, and then rises with it, when noise lets a lone
user's label escape over the threshold. So:

1. the least noise of all is the one whose δ fits with a threshold that almost nothing passes;
2. the threshold at which that noise keeps its own labels in is the first that can fit;
3. from there on, a threshold is possible iff the bottom of its valley is within δ; of the first that is, the
   least noise is on the near slope.

All of this is a search in floating point, over exponents of two. What it finds is then checked exactly, and moved
by a hair where it does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from unlisted.privacy.search import lowest_point, smallest, where_falling

_CLOSE = 2.0**-22
"""Exponents of noise closer than this are the same amount to anyone who looks: a part in 6 million."""
_WIDEST = 1.0
"""Twice the least variance: with more than that, no threshold becomes possible that was not before."""
_STEPS = 26
_HAIRS = 12
_TOO_FAR = Fraction(21, 20)
"""A bound that exceeds δ by more is no matter of a hair: the noise is so small that the bound itself is loose."""
_THRESHOLDS = 3


@dataclass(frozen=True)
class Searched:
    """A mechanism's δ as a function of an exponent of noise and a threshold: about, about its failure, a bound."""

    about: Callable[[float, int], float]
    failure: Callable[[float, int], float]
    bound: Callable[[float, int], Fraction]
    delta: Fraction
    lowest_threshold: int

    def excess(self, exponent: float, threshold: int) -> float:
        """Return the logarithm of about how many times too large δ is."""
        about = self.about(exponent, threshold)
        return math.log(about) - math.log(self.delta) if about > 0 else -math.inf

    def first_threshold(self, exponent: float) -> int:
        """Return about the lowest threshold that keeps a lone user's labels in."""
        return smallest(lambda t: self.failure(exponent, t) <= self.delta, self.lowest_threshold)


def lowest(searched: Searched, enough: float) -> tuple[float, int] | None:
    """Return the least noise at the lowest threshold, given an exponent that is enough noise or nearly so."""
    if float(searched.delta) == 0:
        # So small that floating point does not know it.
        return None
    least = _least_of_all(searched, enough)
    if least is None:
        return None
    at_least = searched.first_threshold(least)
    if _least_noise(searched, least, 2 * at_least + 1) is None:
        return None
    first = smallest(lambda t: _least_noise(searched, least, t) is not None, at_least)
    for threshold in range(first, first + _THRESHOLDS):
        exponent = _least_noise(searched, least, threshold)
        if exponent is not None and (proved := _proved(searched, exponent, threshold)) is not None:
            return proved, threshold
    return None


def _least_of_all(searched: Searched, enough: float) -> float | None:
    # With twice the threshold that would do, almost nothing escapes: what is left of δ is that of moved counts.
    far = 2 * searched.first_threshold(enough)
    low = enough - _WIDEST
    while searched.excess(low, far) < 0:
        low -= 2 * _WIDEST
    least = where_falling(lambda exponent: searched.excess(exponent, far), low, enough, _CLOSE)
    return least if searched.excess(least, far) <= 0 else None


def _least_noise(searched: Searched, least: float, threshold: int) -> float | None:
    """Return about the smallest exponent from `least` that fits a threshold, None if none does."""

    def excess(exponent: float) -> float:
        return searched.excess(exponent, threshold)

    if excess(least) <= 0:
        return least
    bottom = lowest_point(excess, least, least + _WIDEST, _STEPS)
    return where_falling(excess, least, bottom, _CLOSE) if excess(bottom) <= 0 else None


def _proved(searched: Searched, exponent: float, threshold: int) -> float | None:
    """Return an exponent, this one or a little more, that really fits."""
    hair = _CLOSE
    for _ in range(_HAIRS):
        bound = searched.bound(exponent, threshold)
        if bound <= searched.delta:
            return exponent
        if bound > _TOO_FAR * searched.delta:
            return None
        exponent, hair = exponent + hair, 2 * hair
    return None
