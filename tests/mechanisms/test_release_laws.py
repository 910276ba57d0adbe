"""Do releases follow the laws that their proofs speak of? Each check has a twin that must fail."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.small_worlds import Mass, mass_of, ranking_law, ranking_weights
from tests.statistical.goodness import accepts, as_numbers, g_test, rejects

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
LABELS = 100_000
LAWS = [
    (DiscreteLaplace(3), DiscreteLaplace("3.2")),
    (DiscreteGaussian(9), DiscreteGaussian("10")),
    (DiscreteGaussian("0.3"), DiscreteGaussian("0.33")),
]


def alike(count: int, labels: int = LABELS, **declared: object) -> BoundedCounts:
    """Many labels of one count: a single release is as many independent draws of one law."""
    return BoundedCounts(np.arange(labels), np.full(labels, count), ONE, **declared)


def masses(mass: Mass, reach: int = 120) -> dict[int, float]:
    return {z: mass(z) for z in range(-reach, reach + 1)}


def above(mass: Mass, count: int, threshold: int) -> dict[int, float]:
    """Values above the threshold, and the threshold itself for everything hidden."""
    shown = {value: mass(value - count) for value in range(threshold + 1, count + 130)}
    return {threshold: 1 - math.fsum(shown.values())} | shown


def summed(mass: Mass, draws: int, reach: int = 60) -> dict[int, float]:
    one = np.array([mass(z) for z in range(-reach, reach + 1)])
    total = one
    for _ in range(draws - 1):
        total = np.convolve(total, one)
    half = len(total) // 2
    return {z: float(p) for z, p in zip(range(-half, half + 1), total, strict=True)}


@pytest.mark.parametrize(("law", "wrong"), LAWS, ids=str)
def test_algorithm_1_releases_count_plus_noise_above_the_threshold(law: object, wrong: object) -> None:
    count, threshold = 4, 4
    answer = ThresholdHistogram(law, threshold, ONE).release(alike(count), KnownBits(f"algorithm 1 {law}"))
    drawn = np.concatenate([answer.counts, np.full(LABELS - len(answer), threshold)])
    accepts(g_test(drawn, above(mass_of(law), count, threshold)))
    rejects(g_test(drawn, above(mass_of(wrong), count, threshold)))


@pytest.mark.parametrize("law", [DiscreteLaplace(3), DiscreteGaussian(9)], ids=str)
def test_singletons_are_released_no_more_often_than_delta(law: DiscreteLaplace | DiscreteGaussian) -> None:
    """With a large δ that can be measured: the boundary belongs to the hidden, and ≥ would be noticed."""
    mechanism = ThresholdHistogram(law, 5, ONE)
    delta = float(mechanism.guarantee().delta)
    assert 0.05 < delta < 0.2
    answer = mechanism.release(alike(1), KnownBits(f"singletons {law}"))
    shown = np.arange(LABELS) < len(answer)
    accepts(g_test(shown, {0: 1 - delta, 1: delta}))
    at_least = float(law.tail(4))
    rejects(g_test(shown, {0: 1 - at_least, 1: at_least}))


def test_noise_of_different_labels_is_independent() -> None:
    """Two labels side by side: their pair of noises has the product law, not one noise shared by both."""
    law = DiscreteLaplace(1)
    answer = ThresholdHistogram(law, 1, ONE).release(alike(1000), KnownBits("independent"))
    by_label = np.empty(LABELS, dtype=np.int64)
    by_label[np.asarray(answer.labels)] = answer.counts - 1000
    cells = np.clip(by_label, -2, 2)
    mass = mass_of(law)
    near = {z: mass(z) for z in (-1, 0, 1)}
    far = (1 - math.fsum(near.values())) / 2
    one = near | {-2: far, 2: far}
    product = {(a, b): one[a] * one[b] for a in one for b in one}
    for step in (1, 2, LABELS // 2):
        first = np.flatnonzero(np.arange(LABELS) // step % 2 == 0)
        pairs = list(zip(cells[first].tolist(), cells[first + step].tolist(), strict=True))
        accepts(g_test(*as_numbers(pairs, product)))
    shared = [(a, a) for a in cells.tolist()[::2]]
    rejects(g_test(*as_numbers(shared, product)))


def test_empty_and_full_histograms_draw_from_one_law() -> None:
    """Noise does not depend on how many labels there are: the first of few is drawn like one of many."""
    law = DiscreteLaplace(1)
    mechanism = ThresholdHistogram(law, 1, ONE)
    bits = KnownBits("one at a time")
    singles = [int(mechanism.release(alike(1000, 1), bits).counts[0]) - 1000 for _ in range(1000)]
    accepts(g_test(singles, masses(mass_of(law))))
    rejects(g_test(singles, masses(mass_of(DiscreteLaplace("1.5")))))


class TestAlgorithm2:
    @pytest.mark.parametrize(("law", "wrong"), LAWS[:2], ids=str)
    def test_values_given_the_noisy_threshold(self, law: object, wrong: object) -> None:
        """Given the threshold that was released, each label is independent, as in Algorithm 1."""
        counts = BoundedCounts(np.arange(LABELS), [7] * LABELS, ONE)
        mechanism = TopHistogram(law, 2, LABELS - 1, ONE)
        answer = mechanism.release(counts, KnownBits(f"algorithm 2 {law}"))
        over = answer.noisy_threshold
        drawn = np.concatenate([answer.counts, np.full(LABELS - 1 - len(answer), over)])
        accepts(g_test(drawn, above(mass_of(law), 7, over)))
        rejects(g_test(drawn, above(mass_of(wrong), 7, over)))

    def test_the_noisy_threshold(self) -> None:
        law = DiscreteLaplace(2)
        mechanism = TopHistogram(law, 2, 1, ONE)
        counts, bits = BoundedCounts(["a", "b"], [9, 5], ONE, fetched=1), KnownBits("threshold")
        noise = [mechanism.release(counts, bits).noisy_threshold - 7 for _ in range(1200)]
        accepts(g_test(noise, masses(mass_of(law))))
        rejects(g_test(noise, masses(mass_of(DiscreteLaplace("2.8")))))
        rejects(g_test(np.array(noise) + 1, masses(mass_of(law))))


class TestAlgorithm3:
    HISTOGRAM = (3, 2, 1)

    def drawn(self, mechanism: TopK, counts: BoundedCounts, name: str) -> list[tuple[str, ...]]:
        bits, found = KnownBits(name), []
        for _ in range(2500):
            answer = mechanism.release(counts, bits)
            found.append((*answer.labels.to_pylist(), *(["⊥"] if answer.stopped else [])))
        return found

    @pytest.mark.parametrize(("k", "fetched"), [(2, 2), (4, None)])
    def test_rankings_have_the_sequential_law(self, k: int, fetched: int | None) -> None:
        mechanism = TopK(1, 1, Ranking(k, fetched, ONE))
        counts = BoundedCounts([str(i) for i in range(3)], self.HISTOGRAM, ONE)
        drawn = self.drawn(mechanism, counts, f"rankings {k}")
        law = ranking_law(ranking_weights(self.HISTOGRAM, fetched, 1.0, 1.0), k)
        accepts(g_test(*as_numbers(drawn, law)))
        louder = ranking_law(ranking_weights(self.HISTOGRAM, fetched, 1.0, 1.4), k)
        rejects(g_test(*as_numbers(drawn, louder)))
        reached = ranking_law(ranking_weights(self.HISTOGRAM, fetched, 1.4, 1.0), k)
        rejects(g_test(*as_numbers(drawn, reached)))

    def test_tied_labels_come_in_any_order_alike(self) -> None:
        """Where a label stands in the input does not move its rank."""
        mechanism = TopK(1, 1, Ranking(2, None, ONE))
        drawn = self.drawn(mechanism, BoundedCounts(["2", "0", "1"], [4, 4, 4], ONE), "ties")
        law = ranking_law(ranking_weights((4, 4, 4), None, 1.0, 1.0), 2)
        accepts(g_test(*as_numbers(drawn, law)))
        by_label = [tuple(sorted(outcome)) for outcome in drawn]
        rejects(g_test(*as_numbers(by_label, law)))

    def test_counts_of_winners_have_fresh_noise(self) -> None:
        """Selection says nothing about the noise of the counts: the plain law, not that of the highest."""
        law = DiscreteGaussian(9)
        mechanism = TopK(1, 1, Ranking(2000, 20_000, ONE), counts_law=law)
        answer = mechanism.release(alike(1000, 20_000), KnownBits("winners"))
        assert len(answer) == 2000
        accepts(g_test(answer.counts - 1000, masses(mass_of(law))))
        rejects(g_test(answer.counts - 1000, masses(mass_of(DiscreteGaussian("12.5")))))


NODE = DiscreteGaussian(4)


@pytest.fixture(scope="module")
def noise() -> list[np.ndarray]:
    """The noise of every label's prefix in rounds 1 … 4 of a stream."""
    mechanism = RunningHistogram(NODE, (1, 1), 4, ONE)
    state, found = mechanism.start(NoiseKey(bytes(range(32)))), []
    for one in (alike(10, 20_000), alike(0, 1), alike(0, 1), alike(0, 1)):
        state, _ = mechanism.step(state, one)
        found.append(state.noise.on_counts())
    return found


class TestRunning:
    @pytest.mark.parametrize(("t", "nodes"), [(1, 1), (2, 1), (3, 2), (4, 1)])
    def test_a_prefix_has_the_noise_of_its_nodes(self, noise: list[np.ndarray], t: int, nodes: int) -> None:
        mass = mass_of(NODE)
        accepts(g_test(noise[t - 1], summed(mass, nodes)))
        rejects(g_test(noise[t - 1], summed(mass, 3 - nodes)))

    def test_a_node_keeps_its_noise(self, noise: list[np.ndarray]) -> None:
        """Prefix 3 is prefix 2 and one more node: redrawn noise would differ by three draws, not by one."""
        mass = mass_of(NODE)
        accepts(g_test(noise[2] - noise[1], summed(mass, 1)))
        rejects(g_test(noise[2] - noise[1], summed(mass, 3)))

    def test_nodes_of_different_rounds_are_independent(self, noise: list[np.ndarray]) -> None:
        mass = mass_of(NODE)
        accepts(g_test(noise[1] - noise[0], summed(mass, 2)), g_test(noise[3] - noise[2], summed(mass, 3)))
        rejects(g_test(noise[1] - noise[0], summed(mass, 1)), g_test(noise[3] - noise[2], summed(mass, 2)))

    def test_a_label_that_comes_late_has_the_noise_of_all_its_past(self) -> None:
        mechanism = RunningHistogram(NODE, (1, 1), 4, ONE)
        state = mechanism.start(NoiseKey(bytes(32)))
        for one in (alike(0, 1), alike(0, 1), alike(10, 20_000)):
            state, _ = mechanism.step(state, one)
        accepts(g_test(state.noise.on_counts(), summed(mass_of(NODE), 2)))
        rejects(g_test(state.noise.on_counts(), summed(mass_of(NODE), 1)))
