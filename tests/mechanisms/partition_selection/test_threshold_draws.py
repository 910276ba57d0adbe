"""Drawing by bucket is flipping one coin for each label: the same law, with few labels looked at."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from tests.counts.given_weights import GivenWeights
from tests.fixtures.known_bits import KnownBits
from tests.statistical.goodness import accepts, as_numbers, g_test, mean_test, rejects

from unlisted.counts.weights import UNIT
from unlisted.errors import ChargedFailureError
from unlisted.mechanisms.partition_selection.threshold_draws import ThresholdDraws
from unlisted.noise.gaussian.normal import normal_about

COINS = ThresholdDraws(5 * UNIT, Fraction(UNIT**2))
REPEATS = 1500


def chance(weight: int, coins: ThresholdDraws = COINS) -> float:
    return normal_about((coins.threshold - weight) / math.sqrt(coins.variance))


def law_of(weights: Mapping[str, int], coins: ThresholdDraws = COINS) -> dict[object, float]:
    """Return the law of the set that passes: one independent coin for each label."""
    found = {}
    for passed in itertools.product((False, True), repeat=len(weights)):
        chances = (
            chance(w, coins) if yes else 1 - chance(w, coins)
            for w, yes in zip(weights.values(), passed, strict=True)
        )
        found[frozenset(itertools.compress(weights, passed))] = math.prod(chances)
    return found


def drawn(weights: Mapping[str, int], name: str, coins: ThresholdDraws = COINS) -> list[object]:
    bits, scales = KnownBits(name), GivenWeights(weights)
    return [frozenset(coins.draw(scales, bits).labels.to_pylist()) for _ in range(REPEATS)]


SAME_BUCKET = {"a": 4 * UNIT + 3, "b": 4 * UNIT + UNIT // 20, "c": 4 * UNIT + UNIT // 17}
"""Three weights of one bucket, which is a sixteenth of a deviation wide."""

CASES = {
    "one bucket": SAME_BUCKET,
    "far apart": {"a": 3 * UNIT, "b": 5 * UNIT, "c": 6 * UNIT + 11, "d": 7 * UNIT},
    "some beyond all doubt": {"a": 4 * UNIT, "b": 30 * UNIT, "c": 17 * UNIT + UNIT // 2},
    "at the edges of buckets": {"a": 4 * UNIT, "b": 4 * UNIT + 1, "c": 4 * UNIT + UNIT // 16, "d": 5 * UNIT},
}


@pytest.mark.parametrize("name", CASES)
def test_the_set_that_passes_has_the_law_of_one_coin_a_label(name: str) -> None:
    weights = CASES[name]
    outcomes = drawn(weights, name)
    accepts(g_test(*as_numbers(outcomes, law_of(weights))))
    heavier = {label: weight + UNIT // 2 for label, weight in weights.items()}
    rejects(g_test(*as_numbers(outcomes, law_of(heavier))))


def test_labels_of_one_bucket_keep_their_own_chances() -> None:
    """The lightest and the heaviest of a bucket differ by a tenth in chance, and thinning tells them apart."""
    light, heavy, each = 4 * UNIT + 1, 4 * UNIT + UNIT // 16, 40_000
    weights = {f"light {i}": light for i in range(each)} | {f"heavy {i}": heavy for i in range(each)}
    passed = COINS.draw(GivenWeights(weights), KnownBits("edges")).labels.to_pylist()
    for name, weight, other in (("light", light, heavy), ("heavy", heavy, light)):
        count = sum(label.startswith(name) for label in passed)
        flips = np.repeat([1, 0], [count, each - count])
        own, wrong = chance(weight), chance(other)
        accepts(mean_test(flips, own, own * (1 - own)))
        rejects(mean_test(flips, wrong, wrong * (1 - wrong)))


def test_many_labels_pass_as_often_as_one_coin_each_would() -> None:
    weights = {f"label {i}": 2 * UNIT + i * UNIT // 5000 for i in range(10_000)}
    scales = GivenWeights(weights)
    passed = set(COINS.draw(scales, KnownBits("many")).labels.to_pylist())
    chances = np.array([chance(w) for w in weights.values()])
    total, spread = chances.sum(), (chances * (1 - chances)).sum()
    accepts(mean_test([len(passed)], float(total), float(spread)))
    rejects(mean_test([len(passed)], float(total) * 1.4, float(spread)))
    assert passed <= scales.seen


def test_few_labels_are_looked_at() -> None:
    weights = {f"rare {i}": UNIT + i for i in range(20_000)} | {"common": 40 * UNIT}
    scales = GivenWeights(weights)
    assert "common" in COINS.draw(scales, KnownBits("few")).labels.to_pylist()
    # A chance of 3e-5 each, and half as much again for the upper edge of the bucket.
    assert len(scales.seen) < 20


@pytest.mark.parametrize("weights", [{}, {"a": 1}, {"a": 1, "b": 2}])
def test_no_candidate_is_no_label_and_no_error(weights: dict[str, int]) -> None:
    """At a threshold of fifty deviations nothing ever passes."""
    drew = ThresholdDraws(50 * UNIT, Fraction(UNIT**2)).draw(GivenWeights(weights), KnownBits("none"))
    assert len(drew.labels) == len(drew.buckets) == len(drew.ranks) == 0


def test_what_passed_is_said_with_its_place() -> None:
    scales = GivenWeights({"a": 30 * UNIT, "b": UNIT, "c": 30 * UNIT})
    drew = COINS.draw(scales, KnownBits("places"))
    assert drew.labels.to_pylist() == scales.named(drew.buckets, drew.ranks)[0].to_pylist() == ["a", "c"]
    assert drew.ranks.tolist() == [0, 1]


class Vanishing(GivenWeights):
    """Data that changes between two looks at it."""

    def named(self, buckets: np.ndarray, ranks: np.ndarray) -> tuple[object, np.ndarray]:
        return super().named(buckets[1:], ranks[1:])


def test_data_that_changed_is_an_error_that_was_charged() -> None:
    with pytest.raises(ChargedFailureError):
        COINS.draw(Vanishing({"a": 30 * UNIT, "b": 30 * UNIT}), KnownBits("changed"))


# Hints

HINTED = ThresholdDraws(3 * UNIT, Fraction(UNIT**2), fineness=64)


def categories(weights: Mapping[str, int]) -> dict[object, float]:
    """Return the law of (who passes 5, who passes only 3): each label is in one of three categories by itself."""
    found: dict[object, float] = {}
    for each in itertools.product((0, 1, 2), repeat=len(weights)):
        chances = []
        for category, weight in zip(each, weights.values(), strict=True):
            above, hinted = chance(weight), chance(weight, HINTED)
            chances.append((1 - hinted, hinted - above, above)[category])
        sets = (frozenset(label for label, c in zip(weights, each, strict=True) if c == kind) for kind in (2, 1))
        found[tuple(sets)] = math.prod(chances)
    return found


@pytest.mark.parametrize("name", CASES)
def test_categories_have_the_law_of_one_noise_a_label(name: str) -> None:
    weights = {label: weight - UNIT // 2 for label, weight in CASES[name].items()}
    bits, scales, outcomes = KnownBits(f"categories {name}"), GivenWeights(weights), []
    for _ in range(REPEATS):
        drew = HINTED.draw_above(5 * UNIT, scales, bits)
        assert drew.in_play is not None
        in_play, _ = scales.named(*drew.in_play)
        outcomes.append((frozenset(drew.labels.to_pylist()), frozenset(in_play.to_pylist())))
    accepts(g_test(*as_numbers(outcomes, categories(weights))))
    heavier = {label: weight + UNIT // 2 for label, weight in weights.items()}
    rejects(g_test(*as_numbers(outcomes, categories(heavier))))


def test_who_stays_in_play_is_not_named() -> None:
    weights = {f"rare {i}": UNIT + i for i in range(20_000)} | {"common": 40 * UNIT}
    scales = GivenWeights(weights)
    drew = HINTED.draw_above(5 * UNIT, scales, KnownBits("in play"))
    assert drew.in_play is not None
    # Two deviations below the hint, a chance of 2.3 % each.
    expected = 20_000 * chance(UNIT, HINTED)
    accepts(mean_test([len(drew.in_play.ranks)], expected, expected))
    assert scales.seen == set(drew.labels.to_pylist())
    assert "common" in scales.seen
    assert len(scales.seen) < 10


class Unweighed(GivenWeights):
    """Data that changes before weights are asked for."""

    def weights_at(self, buckets: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        return super().weights_at(buckets[1:], ranks[1:])


def test_weights_that_are_gone_are_an_error_that_was_charged() -> None:
    for scales in (Unweighed({"a": 30 * UNIT, "b": 30 * UNIT}), Vanishing({"a": 30 * UNIT, "b": 30 * UNIT})):
        with pytest.raises(ChargedFailureError):
            HINTED.draw_above(5 * UNIT, scales, KnownBits("changed"))
