"""Exact laws of coins and thresholds on tiny histograms, written down from the text and not from the program.

One label is a mixture over its coin of (noise law, threshold). Nothing here calls a mechanism's release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from tests.mechanisms.small_worlds import Histogram, Probabilities, Window, histograms, neighbours

from unlisted.privacy.sensitivity import Sensitivity

Masses = Mapping[int, float]


@dataclass(frozen=True)
class Side:
    """One side of a label's coin: its chance, the noise there, and what a label must be lifted above."""

    chance: float
    masses: Masses
    threshold: int


def truncated(scale: float, reach: int) -> Masses:
    """A·q^|x| on |x| <= reach."""
    weights = {x: math.exp(-abs(x) / scale) for x in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {x: weight / whole for x, weight in weights.items()}


def written_out(mass: Callable[[int], float], reach: int) -> Masses:
    """A law without ends, as far as it matters."""
    return {x: mass(x) for x in range(-reach, reach + 1)}


@dataclass(frozen=True)
class CoinWorld:
    """Independent labels, each with a coin of its own; those below `smallest_listed` are unknown to it."""

    sides: tuple[Side, ...]
    window: Window
    smallest_listed: int = 1

    def one_label(self, count: int, other: int | None = None) -> Probabilities:
        """Hidden first, then the values of the window. With `other`, what a label of that count has too."""
        row = np.zeros(1 + len(self.window.values))
        if count < self.smallest_listed and other is None:
            row[0] = 1
            return row
        for side in self.sides:
            for x, mass in side.masses.items():
                value = count + x
                if other is not None and value - other not in side.masses:
                    continue
                shown = value > side.threshold and count >= self.smallest_listed
                row[value - self.window.low + 1 if shown else 0] += side.chance * mass
        return row

    def law(self, histogram: Histogram) -> Probabilities:
        return _product([self.one_label(count) for count in histogram])

    def good_part(self, own: Histogram, other: Histogram) -> Probabilities:
        """For noise with ends: what both neighbours' noisy counts can be, before anything is hidden."""
        floor = self.smallest_listed - 1
        pairs = [(max(a, floor), max(b, floor)) for a, b in zip(own, other, strict=True)]
        return _product([self.one_label(a, b if a != b else None) for a, b in pairs])

    def pairs(self, largest: int, sensitivity: Sensitivity, labels: int = 2) -> Iterator:
        """Both laws and their good parts, for every two neighbours."""
        laws = {histogram: self.law(histogram) for histogram in histograms(labels, largest)}
        for a, b in neighbours(labels, largest, sensitivity):
            yield laws[a], laws[b], (self.good_part(a, b), self.good_part(b, a))


def shared_coin(world: CoinWorld, histogram: Histogram) -> Probabilities:
    """The law where one coin decides for all labels."""
    parts = []
    for side in world.sides:
        alone = CoinWorld((Side(1.0, side.masses, side.threshold),), world.window, world.smallest_listed)
        parts.append(side.chance * alone.law(histogram))
    return np.sum(parts, axis=0)


def _product(rows: list[Probabilities]) -> Probabilities:
    law = np.ones(1)
    for row in rows:
        law = np.multiply.outer(law, row).ravel()
    return law
