"""The running histogram's guarantee, exactly: one label, three rounds, every neighbouring stream.

Rounds 1, 2 and 3 are the nodes (1), (1 2), and (1 2) with (3). A label that was never seen shows nothing; one that
was seen is tested in every round from then on with the noise of all its nodes, past ones included.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.mechanisms.promises import breach
from tests.mechanisms.small_worlds import mass_of

from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Stream = tuple[int, int, int]
REACH = 7


@dataclass(frozen=True)
class ThreeRounds:
    """All noise (z1, z12, z3) on a grid, and what a stream shows with it."""

    mechanism: RunningHistogram
    redrawn: bool = False
    only_when_seen: bool = False

    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """The noise of prefixes 1, 2, 3 and its probability; a fourth noise if node (1 2) is redrawn."""
        mass = np.array([mass_of(self.mechanism.law)(z) for z in range(-REACH, REACH + 1)])
        draws = 4 if self.redrawn else 3
        z = np.meshgrid(*[np.arange(-REACH, REACH + 1)] * draws, indexing="ij")
        weight = mass
        for _ in range(draws - 1):
            weight = np.multiply.outer(weight, mass)
        again = z[3] if self.redrawn else z[1]
        return np.stack([z[0].ravel(), z[1].ravel(), (again + z[2]).ravel()]), weight.ravel()

    def shown(self, stream: Stream, noise: np.ndarray) -> np.ndarray:
        """One number for each noise: what the three rounds show, hidden being 0."""
        code = np.zeros(noise.shape[1], dtype=np.int64)
        before = np.zeros(noise.shape[1], dtype=bool)
        for t in (1, 2, 3):
            total = sum(stream[:t])
            prefix = total + noise[t - 1]
            tested = total > 0 and not (self.only_when_seen and stream[t - 1] == 0)
            passes = (prefix > self.mechanism.thresholds[t.bit_count() - 1]) & tested
            if self.mechanism.display == "sticky":
                passes = before = passes | before
            code = code * 256 + np.where(passes, prefix + 32, 0)
        return code

    def quiet_between(self, first: int, until: int, noise: np.ndarray, stream: Stream) -> np.ndarray:
        """The event K of the proof: the label is not shown in the rounds first … until - 1."""
        kept = np.ones(noise.shape[1], dtype=bool)
        for t in range(first, until):
            kept &= sum(stream[:t]) + noise[t - 1] <= self.mechanism.thresholds[t.bit_count() - 1]
        return kept

    def pair(self, a: Stream, b: Stream) -> tuple:
        """Both laws over the same outcomes, and their parts on K."""
        noise, weight = self.grid()
        shown = [self.shown(stream, noise) for stream in (a, b)]
        outcomes, place = np.unique(np.concatenate(shown), return_inverse=True)
        halves = place[: len(weight)], place[len(weight) :]
        firsts = [next((t for t in (1, 2, 3) if stream[t - 1]), 4) for stream in (a, b)]
        laws, parts = [], []
        for stream, half in zip((a, b), halves, strict=True):
            laws.append(np.bincount(half, weight, len(outcomes)))
            # On the side that has not seen the label yet, its noise is drawn later, for the same rounds.
            good = self.quiet_between(min(firsts), max(firsts), noise, stream)
            parts.append(np.bincount(half[good], weight[good], len(outcomes)))
        both = (parts[0] > 0) & (parts[1] > 0)
        return *laws, (parts[0] * both, parts[1] * both)


def neighbouring_streams(count: int, largest: int = 1) -> list[tuple[Stream, Stream]]:
    pairs = []
    for stream in itertools.product(range(largest + 1), repeat=3):
        for when, event in itertools.product(range(3), range(1, count + 1)):
            more = tuple(c + event * (t == when) for t, c in enumerate(stream))
            pairs += [(stream, more), (more, stream)]
    return pairs


MECHANISMS = [
    RunningHistogram(DiscreteGaussian(1), (3, 4), 3, Sensitivity(1), display) for display in ("live", "sticky")
] + [RunningHistogram(DiscreteGaussian(2), (4, 5), 3, Sensitivity(1, 2))]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_a_stream_keeps_its_guarantee(mechanism: RunningHistogram) -> None:
    """Labels that only the event has, that come again later, that were there before: all of them."""
    world = ThreeRounds(mechanism)
    for a, b in neighbouring_streams(mechanism.sensitivity.count):
        assert breach(*world.pair(a, b), mechanism.guarantee()) is None, (a, b)


def streams_of_users(rounds_per_user: int) -> list[tuple[Stream, Stream]]:
    """Neighbours that differ in all rounds of one user, who has the label in each of them."""
    pairs = []
    for stream in itertools.product((0, 1), repeat=3):
        for size in range(1, rounds_per_user + 1):
            for rounds in itertools.combinations(range(3), size):
                more = tuple(c + (t in rounds) for t, c in enumerate(stream))
                pairs += [(stream, more), (more, stream)]
    return pairs


@pytest.mark.parametrize("rounds_per_user", [2, 3])
def test_a_stream_keeps_its_guarantee_for_users_of_several_rounds(rounds_per_user: int) -> None:
    thresholds = (rounds_per_user + 3, rounds_per_user + 4)
    mechanism = RunningHistogram(DiscreteGaussian(1), thresholds, 3, Sensitivity(1), "live", 1, rounds_per_user)
    world = ThreeRounds(mechanism)
    for a, b in streams_of_users(rounds_per_user):
        assert breach(*world.pair(a, b), mechanism.guarantee()) is None, (a, b)


def test_the_price_of_one_round_is_too_low_for_a_user_of_two() -> None:
    """And the exact price is not far above what is needed: four fifths of it are too little."""
    both = RunningHistogram(DiscreteGaussian(1), (5, 6), 3, Sensitivity(1), "live", 1, 2)
    one = replace(both, rounds_per_unit=1)
    # The label is always shown, so that everything there is to see is seen.
    loud, louder = (40, 0, 0), (41, 1, 0)
    world = ThreeRounds(both)
    assert breach(*world.pair(loud, louder), both.guarantee()) is None
    assert breach(*world.pair(loud, louder), one.guarantee()) is not None
    less = Guarantee(both.guarantee().rho * 4 / 5, both.guarantee().delta)
    assert breach(*world.pair(loud, louder), less) is not None


def found_breach(world: ThreeRounds, promised: Guarantee) -> bool:
    return any(breach(*world.pair(a, b), promised) is not None for a, b in neighbouring_streams(1))


def test_noise_redrawn_for_a_node_is_a_second_release() -> None:
    """Node (1 2) with one noise in round 2 and another in round 3 shows an event of round 1 three times."""
    mechanism = RunningHistogram(DiscreteGaussian(1), (1, 1), 3, Sensitivity(1))
    assert not found_breach(ThreeRounds(mechanism), mechanism.guarantee())
    assert found_breach(ThreeRounds(mechanism, redrawn=True), mechanism.guarantee())


def test_the_threshold_of_one_node_is_too_low_for_two() -> None:
    mechanism = RunningHistogram(DiscreteGaussian(1), (3, 5), 3, Sensitivity(1))
    lower = replace(mechanism, thresholds=(3, 3))
    assert not found_breach(ThreeRounds(mechanism), mechanism.guarantee())
    assert found_breach(ThreeRounds(lower), mechanism.guarantee())


def test_a_threshold_for_one_round_is_too_low_for_three() -> None:
    """δ of a single test, forgotten that every later round tests again."""
    mechanism = RunningHistogram(DiscreteGaussian(1), (3, 4), 3, Sensitivity(1))
    once = Guarantee(mechanism.guarantee().rho, mechanism.law.tail(3))
    assert found_breach(ThreeRounds(mechanism), once)


def test_testing_a_label_only_when_it_has_an_event_breaks() -> None:
    """A label well above the threshold that is shown in round 2 or not: that tells whether it had an event."""
    mechanism = RunningHistogram(DiscreteGaussian(1), (3, 4), 3, Sensitivity(1))
    with_event, without = (5, 1, 0), (5, 0, 0)
    assert breach(*ThreeRounds(mechanism).pair(with_event, without), mechanism.guarantee()) is None
    careless = ThreeRounds(mechanism, only_when_seen=True)
    assert breach(*careless.pair(with_event, without), mechanism.guarantee()) is not None
