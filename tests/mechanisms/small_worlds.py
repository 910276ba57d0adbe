"""Exact output laws on histograms so small that every outcome can be written down.

Nothing here calls the mechanisms' release: these are the algorithms again, as probabilities. A histogram is a
tuple of one count per label of a tiny domain, 0 for a label that is not there. Laws are arrays over a window of
outcomes common to all histograms; noise is unbounded, and what falls outside the window is the law's missing mass.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity

Histogram = tuple[int, ...]
Probabilities = NDArray[np.float64]
Mass = Callable[[int], float]
TieOrder = Callable[[Histogram], Sequence[int]]


def histograms(labels: int, largest: int) -> list[Histogram]:
    """Every histogram over so many labels with counts from 0 to `largest`."""
    return list(itertools.product(range(largest + 1), repeat=labels))


def contributions(labels: int, sensitivity: Sensitivity) -> Iterator[Histogram]:
    """Everything that one user may add."""
    for one in itertools.product(range(sensitivity.count + 1), repeat=labels):
        if sensitivity.items is None or sum(c > 0 for c in one) <= sensitivity.items:
            yield one


def neighbours(labels: int, largest: int, sensitivity: Sensitivity) -> list[tuple[Histogram, Histogram]]:
    """Every ordered pair of different neighbouring histograms, so both directions are there."""
    pairs = set()
    users = list(contributions(labels, sensitivity))
    for rest in histograms(labels, largest):
        worlds = [tuple(a + b for a, b in zip(rest, user, strict=True)) for user in users]
        worlds = [world for world in worlds if max(world) <= largest]
        if sensitivity.adjacency == "replace":
            pairs |= {(one, other) for one in worlds for other in worlds if one != other}
        else:
            pairs |= {(rest, one) for one in worlds if one != rest}
            pairs |= {(one, rest) for one in worlds if one != rest}
    return sorted(pairs)


def mass_of(law: DiscreteLaplace | DiscreteGaussian) -> Mass:
    """The textbook probability of each whole number, from the law's parameter alone."""
    if isinstance(law, DiscreteLaplace):
        q = math.exp(-1 / law.scale)
        return lambda z: (1 - q) / (1 + q) * q ** abs(z)
    variance = float(law.variance)
    reach = 40 + int(40 * math.sqrt(variance))
    whole = math.fsum(math.exp(-z * z / (2 * variance)) for z in range(-reach, reach + 1))
    return lambda z: math.exp(-z * z / (2 * variance)) / whole


@dataclass(frozen=True)
class Window:
    """The noisy values that are written out one by one: from `low` to `high`."""

    low: int
    high: int

    @property
    def values(self) -> range:
        return range(self.low, self.high + 1)


def one_label(count: int, over: int, mass: Mass, window: Window, *, listed: bool) -> Probabilities:
    """Hidden first, then every value of the window: the law of one label under "noisy > over"."""
    row = np.zeros(1 + len(window.values))
    if listed:
        row[1:] = [mass(value - count) if value > over else 0.0 for value in window.values]
    row[0] = 1 - row.sum()
    return row


def hidden_chance(count: int, over: int, mass: Mass) -> float:
    """P[count + Z <= over], by summing the other side."""
    return 1 - math.fsum(mass(z) for z in range(over - count + 1, over - count + 80))


@dataclass(frozen=True)
class Thresholding:
    """Algorithm 1 on a tiny domain: independent labels, those below `smallest_listed` unknown to it."""

    threshold: int
    mass: Mass
    window: Window
    smallest_listed: int = 1

    def law(self, histogram: Histogram) -> Probabilities:
        law = np.ones(1)
        for count in histogram:
            listed = count >= self.smallest_listed
            law = np.multiply.outer(law, one_label(count, self.threshold, self.mass, self.window, listed=listed))
        return law.ravel()

    def top(self, histogram: Histogram) -> set[int]:
        return {label for label, count in enumerate(histogram) if count >= self.smallest_listed}

    def good_part(self, own: Histogram, other: Histogram) -> Probabilities:
        """The law where no label shows that only this side lists; where the other lists more, pads hide too."""
        law = self.law(own) * (self.law(other) > 0)
        pads = _pads(self.top(own), self.top(other))
        return law * hidden_chance(self.smallest_listed - 1, self.threshold, self.mass) ** pads


def by_count_then_label(histogram: Histogram) -> list[int]:
    """The order that no data can change within a count."""
    return sorted(range(len(histogram)), key=lambda label: (-histogram[label], label))


@dataclass(frozen=True)
class Topping:
    """Algorithm 2 on a tiny domain: the noisy threshold, which is released too, and the top labels over it."""

    fetched: int
    threshold: int
    mass: Mass
    window: Window
    order: TieOrder = by_count_then_label
    smallest_listed: int = 1

    def _ranked(self, histogram: Histogram) -> list[int]:
        return [label for label in self.order(histogram) if histogram[label] >= self.smallest_listed]

    def top(self, histogram: Histogram) -> set[int]:
        return set(self._ranked(histogram)[: self.fetched])

    def law(self, histogram: Histogram) -> Probabilities:
        return self._law(histogram, self.top(histogram), pads=0)

    def good_part(self, own: Histogram, other: Histogram) -> Probabilities:
        """The law where no label shows that only this side's top has; where the other has more, pads hide too."""
        mine, others = self.top(own), self.top(other)
        law = self._law(own, mine, pads=_pads(mine, others))
        # A label outside the other's top must be hidden: those are the outcomes at the start of its axis.
        cells = law.reshape(len(self.window.values), *[1 + len(self.window.values)] * len(own))
        for label in mine - others:
            cells[(slice(None),) * (label + 1) + (slice(1, None),)] = 0
        return cells.ravel()

    def _law(self, histogram: Histogram, top: set[int], pads: int) -> Probabilities:
        ranked = self._ranked(histogram)
        bottom = histogram[ranked[self.fetched]] if len(ranked) > self.fetched else self.smallest_listed - 1
        slices = []
        for over in self.window.values:
            hidden = hidden_chance(self.smallest_listed - 1, over, self.mass) ** pads if pads else 1.0
            law = np.array([self.mass(over - self.threshold - bottom) * hidden])
            for label, count in enumerate(histogram):
                law = np.multiply.outer(law, one_label(count, over, self.mass, self.window, listed=label in top))
            slices.append(law.ravel())
        return np.concatenate(slices)


def _pads(mine: set[int], others: set[int]) -> int:
    return max(0, len(others - mine) - len(mine - others))


def ranking_law(weights: dict[str, object], k: int, stop: str = "⊥") -> dict[tuple[str, ...], object]:
    """Draw without replacement in proportion to the weights until k labels are out or `stop` is drawn.

    Works with floats and with fractions alike.
    """
    found: dict[tuple[str, ...], object] = {}

    def draw(so_far: tuple[str, ...], left: dict[str, object], chance: object) -> None:
        if len(so_far) == k or (so_far and so_far[-1] == stop):
            found[so_far] = chance
            return
        whole = sum(left.values())
        for label, weight in left.items():
            rest = {name: w for name, w in left.items() if name != label}
            draw((*so_far, label), rest, chance * weight / whole)

    draw((), weights, 1)
    return found


def ranking_weights(
    histogram: Histogram, fetched: int | None, threshold: float, rate: float, floor: int = 0
) -> dict[str, object]:
    """Algorithm 3's weights e^(rate·count) of the listed labels and of ⊥, all divided by the largest."""
    ranked = [label for label in by_count_then_label(histogram) if histogram[label] > floor]
    cut = len(ranked) if fetched is None else fetched
    bottom = histogram[ranked[cut]] if len(ranked) > cut else floor
    scores = {str(label): rate * histogram[label] for label in ranked[:cut]} | {"⊥": rate * (bottom + threshold)}
    highest = max(scores.values())
    return {name: math.exp(score - highest) for name, score in scores.items()}
