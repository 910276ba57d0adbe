"""OpenDP's two thresholds on given counts: how many labels come out, and how good they are.

usage: opendp_threshold.py        a line of JSON in, a line out: scores.answer_lines

Each at its best: the smallest scale its own privacy map allows, and of all ways to share δ between threshold and
conversion (Gaussian) the one with the lowest threshold.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import opendp.prelude as dp
from scores import Counts, Told, answer_lines, gaussian_chance, laplace_chance, worth_noise

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
"""How much of δ the conversion from ρ gets; the rest is the threshold's."""


def measurement(kind: str, scale: float, threshold: int) -> Any:
    domain = dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64"))
    if kind == "laplace":
        metric = dp.l01inf_distance(dp.absolute_distance(T="i64"))
        return dp.m.make_laplace_threshold(domain, metric, scale=scale, threshold=threshold)
    metric = dp.l02inf_distance(dp.absolute_distance(T="f64"))
    return dp.m.make_gaussian_threshold(domain, metric, scale=scale, threshold=threshold)


def lowest_threshold(kind: str, scale: float, distance: tuple[Any, ...], delta: float) -> int | None:
    """Return the smallest threshold whose own map keeps the threshold's δ."""
    low, high = 1, 64 + int(60 * scale)

    def keeps(threshold: int) -> bool:
        return bool(measurement(kind, scale, threshold).map(distance)[1] <= delta)

    if not keeps(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle + 1, high)
    return low


def smallest_scale(epsilon: float, delta: float, distance: tuple[Any, ...]) -> float:
    """Return the smallest Gaussian scale whose ρ its own conversion turns into at most ε at this δ."""
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")

    def loss(scale: float) -> float:
        noise = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(domain, metric, scale))
        return float(noise.map(distance[1]).epsilon(delta))

    low, high = 0.01, 10_000.0
    while high / low > 1 + 1e-7:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if loss(middle) <= epsilon else (middle, high)
    return high


@cache
def laplace(epsilon: float, delta: float, items: int) -> tuple[float, int, str]:
    scale, distance = items / epsilon * (1 + 1e-9), (items, items, 1)
    threshold = lowest_threshold("laplace", scale, distance, delta)
    assert threshold is not None
    return scale, threshold, "OpenDP, Laplace threshold"


@cache
def gaussian(epsilon: float, delta: float, items: int) -> tuple[float, int, str]:
    distance = (items, items**0.5 * (1 + 1e-12), 1.0)
    found = []
    for share in SHARES:
        scale = smallest_scale(epsilon, share * delta, distance)
        threshold = lowest_threshold("gaussian", scale, distance, (1 - share) * delta)
        if threshold is not None:
            found.append((threshold, scale))
    threshold, scale = min(found)
    return scale, threshold, "OpenDP, Gaussian threshold"


def released(path: str, epsilon: float, delta: float, items: int, runs: int) -> Told:
    table = Counts.read(path)
    told: Told = {}
    for kind, found in (("laplace", laplace), ("gaussian", gaussian)):
        scale, threshold, name = found(epsilon, delta, items)
        chance = laplace_chance if kind == "laplace" else gaussian_chance
        data = dict(enumerate(worth_noise(table.counts, chance(scale, threshold))))
        noisy = measurement(kind, scale, threshold)
        told[name] = {"threshold": threshold, **table.scores(noisy(data) for _ in range(runs))}
    return told


if __name__ == "__main__":
    dp.enable_features("contrib")
    answer_lines(released)
