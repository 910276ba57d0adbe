"""The chance that a unit's own label is shown: against normal tails computed anew, and a stream that is run."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from unlisted.mechanisms.continual.correlated.noise import KeyedRecursion
from unlisted.mechanisms.continual.correlated.price import CorrelatedPrice, Unit, class_ends, class_of
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.sensitivity import Sensitivity


def deviations(recursion: Recursion, steps: int) -> np.ndarray:
    """sqrt(V_t) of every step, by inverting c(x) term by term in floats."""
    w, th = (np.array(part) / 2.0**recursion.precision for part in (recursion.weights, recursion.decays))
    c = np.array([1.0, *(float(np.sum(w * th**k)) for k in range(steps - 1))])
    inverse = np.zeros(steps)
    inverse[0] = 1
    for k in range(1, steps):
        inverse[k] = -np.dot(c[1 : k + 1], inverse[k - 1 :: -1][:k])
    return np.sqrt(np.cumsum(np.cumsum(inverse) ** 2))


def shown_alone(price: CorrelatedPrice, rounds: int) -> float:
    """About the chance that a label is shown which one unit brings in its first so many rounds: all tails."""
    unit, recursion = price.unit, price.recursion
    scale = float(price.variance) ** 0.5 / (1 << recursion.grid)
    spread = deviations(recursion, unit.steps) * scale
    chance = 0.0
    for t in range(1, unit.steps + 1):
        count = min(rounds, t * unit.every) * unit.sensitivity.count
        chance += float(norm.sf((price.thresholds[class_of(t)] - count + 0.5) / spread[t - 1]))
    return chance


@pytest.mark.parametrize(("steps", "items"), [(1, 1), (20, 1), (365, 3), (2000, 1)])
def test_for_events_it_is_the_sum_of_the_tails_of_all_steps(steps: int, items: int) -> None:
    recursion = Recursion.for_steps(steps)
    variance = Fraction(10**2 << 2 * recursion.grid)
    price = CorrelatedPrice.spread(variance, recursion, 130, Unit(steps, 1, 1, Sensitivity(items)))
    expected = items * shown_alone(price, 1)
    # Never below, but for what floats lose; above it by rounding and by steps that share a class.
    assert expected * (1 - 1e-6) <= price.failure() <= expected * 1.12
    alone = items * float(norm.sf((price.thresholds[-1] - 0.5) / (10 * deviations(recursion, steps)[-1])))
    assert steps == 1 or price.failure() > 3 * alone, "all steps count, not only the worst"


@pytest.mark.parametrize(("every", "rounds"), [(1, 2), (1, 8), (3, 7)])
@pytest.mark.parametrize("scale", [3, 100])
def test_for_users_it_is_that_of_the_worst_way_to_share(every: int, rounds: int, scale: int) -> None:
    recursion = Recursion.for_steps(50)
    variance = Fraction(scale**2 << 2 * recursion.grid)
    unit = Unit(50, every, rounds, Sensitivity(2, 3))
    price = CorrelatedPrice.spread(variance, recursion, 3 * rounds + 12 * scale, unit)
    worst = max(2 * rounds * shown_alone(price, n) / n for n in range(1, rounds + 1))
    assert worst * (1 - 1e-6) <= price.failure() <= worst * 1.5


def test_a_stream_that_is_run_shows_no_more() -> None:
    """A chance large enough to be seen: 30,000 labels that one event brings in round 1, over 48 rounds."""
    steps, labels = 48, 30_000
    recursion = Recursion.for_steps(steps)
    law = WideGaussian(Fraction(4**2 << 2 * recursion.grid))
    price = CorrelatedPrice.spread(law.variance, recursion, 22, Unit(steps, 1, 1, Sensitivity(1)))
    key = NoiseKey(bytes(range(2, 34)))
    noise = KeyedRecursion(key, law, recursion)
    tags, numbers = key.tags(b"%d" % i for i in range(labels)), recursion.start(labels)
    shown = np.zeros(labels, dtype=bool)
    for t in range(1, steps + 1):
        numbers = noise.after([noise.name(t, b"")], tags, numbers)
        shown |= 1 + recursion.on_counts(numbers) > price.thresholds[class_of(t)]
    chance = float(price.failure())
    assert 0.001 < chance < 0.02
    seen = shown.mean()
    assert seen <= chance + 5 * np.sqrt(chance / labels)
    assert seen >= chance / 5, "and the bound is not idle"


def test_thresholds_stand_equally_many_deviations_up() -> None:
    recursion = Recursion.for_steps(365)
    unit = Unit(365, 1, 4, Sensitivity(1, 2))
    price = CorrelatedPrice.spread(Fraction(1 << 30), recursion, 1008, unit)
    spread = deviations(recursion, 365)
    assert price.thresholds[-1] == 1008
    for end, threshold in zip(class_ends(365), price.thresholds, strict=True):
        above = threshold - 2 * min(4, end)
        assert above == pytest.approx(1000 * spread[end - 1] / spread[-1], abs=1.01)
