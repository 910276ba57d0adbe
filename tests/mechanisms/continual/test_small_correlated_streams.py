"""The guarantee of a stream with correlated noise, exactly: one label, few rounds, every neighbouring stream.

Nothing here calls the mechanism: this is the recursion again, over all draws at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from tests.mechanisms.promises import breach
from tests.mechanisms.small_worlds import mass_of
from tests.statistical.goodness import g_test

from unlisted.mechanisms.continual.correlated import price
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.correlated.noise import KeyedRecursion
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Stream = tuple[int, ...]
COARSE = Recursion((3,), (2,), 2, 1, 1)
"""A grid of two to a count: all the roundings that there are, and three rounds can be written out."""
FINE = Recursion((3,), (2,), 2, 1, 5)
"""A grid on which the bound of the thresholds is close to the truth; two rounds can be written out."""
DEVIATIONS = 13
"""The moment of order 5 lies around five times the shift: a window that ends there would falsify it."""
RAREST = 1e-33


@lru_cache(maxsize=2)
def all_noise(variance: Fraction, recursion: Recursion, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """The noise on the running count in every round, and its probability, for all draws: each path once."""
    law = DiscreteGaussian(variance)
    reach = int(DEVIATIONS * law.stddev) + 1
    mass = np.array([mass_of(law)(z) for z in range(-reach, reach + 1)])
    draws = np.meshgrid(*[np.arange(-reach, reach + 1)] * rounds, indexing="ij")
    weight = mass
    for _ in range(rounds - 1):
        weight = np.multiply.outer(weight, mass)
    noise = noise_of(recursion, [one.ravel() for one in draws])
    code = np.zeros(noise.shape[1], dtype=np.int64)
    for row in noise:
        code = code * 4096 + row + 2048
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return noise[:, first], np.bincount(inverse, weight.ravel())


class FewRounds:
    """What a stream shows, for all draws on a grid."""

    def __init__(
        self, mechanism: CorrelatedHistogram, *, only_when_seen: bool = False, known: int | None = None
    ) -> None:
        self.mechanism = mechanism
        self.only_when_seen = only_when_seen
        self.known = known
        self.noise, self.weight = all_noise(mechanism.law.variance, mechanism.recursion, mechanism.rounds)
        self._shown: dict[Stream, tuple[np.ndarray, np.ndarray]] = {}

    def shown(self, stream: Stream) -> tuple[np.ndarray, np.ndarray]:
        """The outcomes of a stream, and the place of each noise's outcome among them; hidden is 0."""
        if stream not in self._shown:
            code = np.zeros(self.noise.shape[1], dtype=np.int64)
            before = np.zeros(self.noise.shape[1], dtype=bool)
            for t in range(1, len(stream) + 1):
                total = sum(stream[:t])
                prefix = total + self.noise[t - 1]
                tested = total > 0 and not (self.only_when_seen and stream[t - 1] == 0)
                passes = (prefix > self.mechanism.threshold_after(t)) & tested
                if self.known is not None:
                    passes = prefix > self.known
                if self.mechanism.display == "sticky":
                    passes = before = passes | before
                code = code * 1024 + np.where(passes, prefix + 257, 0)
            self._shown[stream] = np.unique(code, return_inverse=True)
        return self._shown[stream]

    def pair(self, a: Stream, b: Stream) -> tuple:
        """Both laws over the same outcomes, and their parts on the event K of the proof."""
        outcomes = np.unique(np.concatenate([self.shown(a)[0], self.shown(b)[0]]))
        firsts = [next((t for t, c in enumerate(stream, start=1) if c), len(stream) + 1) for stream in (a, b)]
        laws, parts = [], []
        for stream in (a, b):
            own, inverse = self.shown(stream)
            place = np.searchsorted(outcomes, own)
            laws.append(_spread(np.bincount(inverse, self.weight, len(own)), place, len(outcomes)))
            good = self.weight.copy()
            for t in range(min(firsts), max(firsts)) if self.known is None else ():
                good[sum(stream[:t]) + self.noise[t - 1] > self.mechanism.threshold_after(t)] = 0
            parts.append(_spread(np.bincount(inverse, good, len(own)), place, len(outcomes)))
        # Where a window of draws ends, an outcome has lost some of them; all that did are rarer than this.
        both = (parts[0] > RAREST) & (parts[1] > RAREST)
        return *laws, (parts[0] * both, parts[1] * both)

    def breached(self, a: Stream, b: Stream, promised: Guarantee) -> str | None:
        """How two neighbours break a guarantee, whichever of them is the real one."""
        p, q, (p0, q0) = self.pair(a, b)
        return breach(p, q, (p0, q0), promised) or breach(q, p, (q0, p0), promised)


def _spread(masses: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    wide = np.zeros(size)
    wide[places] = masses
    return wide


def noise_of(recursion: Recursion, draws: Sequence[np.ndarray]) -> np.ndarray:
    """The recursion as theory.md prints it, for arrays of draws."""
    p, q, grid = recursion.precision, recursion.guard, 1 << recursion.grid
    total = np.zeros_like(draws[0])
    states = [np.zeros_like(draws[0]) for _ in recursion.decays]
    found = []
    for z in draws:
        r = (sum(b * s for b, s in zip(recursion.weights, states, strict=True)) + (1 << (p + q - 1))) >> (p + q)
        n = z - r
        total = total + n
        states = [((a * s) >> p) + (n << q) for a, s in zip(recursion.decays, states, strict=True)]
        found.append((total + grid // 2) // grid)
    return np.stack(found)


def events(rounds: int, count: int, largest: int = 1) -> list[tuple[Stream, Stream]]:
    """Neighbours that differ in one event: labels only it has, that come back later, that were there before."""
    pairs = []
    for stream in itertools.product(range(largest + 1), repeat=rounds):
        for when, event in itertools.product(range(rounds), range(1, count + 1)):
            more = tuple(c + event * (t == when) for t, c in enumerate(stream))
            pairs.append((stream, more))
    return pairs


def users(rounds: int, most: int) -> list[tuple[Stream, Stream]]:
    """Neighbours that differ in all rounds of one user, who has the label in each of them."""
    pairs = []
    for stream in itertools.product((0, 1), repeat=rounds):
        for size in range(1, most + 1):
            for there in itertools.combinations(range(rounds), size):
                more = tuple(c + (t in there) for t, c in enumerate(stream))
                pairs.append((stream, more))
    return pairs


def three(
    variance: int, above: int, sensitivity: Sensitivity, display: str = "live", of_unit: int = 1
) -> CorrelatedHistogram:
    thresholds = tuple(of_unit * sensitivity.count + above + t for t in (0, 1, 1))
    law = WideGaussian(Fraction(variance))
    return CorrelatedHistogram(law, COARSE, thresholds, 3, sensitivity, display, 1, of_unit)


def two(above: int, of_unit: int = 1, display: str = "live") -> CorrelatedHistogram:
    thresholds = (1 + above, of_unit + above + 1)
    law = WideGaussian(Fraction(32**2))
    return CorrelatedHistogram(law, FINE, thresholds, 2, Sensitivity(1), display, 1, of_unit)


class TestGuarantee:
    @pytest.mark.parametrize("display", ["live", "sticky"])
    @pytest.mark.parametrize(
        ("variance", "above", "sensitivity"), [(9, 9, Sensitivity(1)), (12, 9, Sensitivity(1, 2))], ids=str
    )
    def test_it_is_kept_for_events(
        self, variance: int, above: int, sensitivity: Sensitivity, display: str
    ) -> None:
        mechanism = three(variance, above, sensitivity, display)
        assert mechanism.failure() < Fraction(1, 20), "a guarantee that says something"
        world = FewRounds(mechanism)
        for a, b in events(3, sensitivity.count):
            assert world.breached(a, b, mechanism.guarantee()) is None, (a, b)

    @pytest.mark.parametrize("of_unit", [2, 3])
    def test_it_is_kept_for_users_of_several_rounds(self, of_unit: int) -> None:
        mechanism = three(9, 9, Sensitivity(1), of_unit=of_unit)
        assert mechanism.failure() < Fraction(1, 10)
        world = FewRounds(mechanism)
        for a, b in users(3, of_unit):
            assert world.breached(a, b, mechanism.guarantee()) is None, (a, b)

    @pytest.mark.parametrize("display", ["live", "sticky"])
    @pytest.mark.parametrize("of_unit", [1, 2])
    def test_it_is_kept_where_thresholds_are_tight(self, display: str, of_unit: int) -> None:
        mechanism = two(3, of_unit, display)
        assert mechanism.failure() < Fraction(1, 50)
        world = FewRounds(mechanism)
        for a, b in events(2, 1) + users(2, of_unit):
            assert world.breached(a, b, mechanism.guarantee()) is None, (a, b)

    @pytest.mark.parametrize("bar", [-300, 0, 3])
    def test_a_label_that_was_known_costs_no_delta(self, bar: int) -> None:
        """Whatever its threshold is: it is there in both streams before anybody brings it."""
        mechanism = three(9, 9, Sensitivity(1))
        world = FewRounds(mechanism, known=bar)
        # The draws that are left out at the edges of the window are all that is missing.
        promised = Guarantee(mechanism.guarantee().rho, Fraction(1, 10**20))
        for a, b in events(3, 1):
            assert world.breached(a, b, promised) is None, (a, b)

    def test_a_label_that_is_always_shown_needs_nearly_all_of_the_price(self) -> None:
        """A tenth less is too little: the price is not an idle bound."""
        mechanism = two(3)
        loud, louder = (90, 0), (91, 0)
        world = FewRounds(mechanism)
        promised = mechanism.guarantee()
        assert world.breached(loud, louder, promised) is None
        assert world.breached(loud, louder, Guarantee(promised.rho * 9 / 10, promised.delta)) is not None


def broken(mechanism: CorrelatedHistogram, promised: Guarantee, pairs: list[tuple[Stream, Stream]]) -> bool:
    world = FewRounds(mechanism)
    return any(world.breached(a, b, promised) is not None for a, b in pairs)


class TestKnownMistakes:
    def test_the_price_of_lag_zero_alone_is_too_low(self) -> None:
        """An event moves the centre of every later draw, not only of its own."""
        mechanism = two(3)
        grid = 1 << FINE.grid
        once = Guarantee(Fraction(grid**2) / (2 * mechanism.law.variance), mechanism.guarantee().delta)
        assert broken(mechanism, once, [((90, 0), (91, 0))])

    def test_the_price_of_one_round_is_too_low_for_a_user_of_two(self) -> None:
        both = two(3, of_unit=2)
        one = replace(both, rounds_per_unit=1)
        assert broken(both, one.guarantee(), [((90, 0), (91, 1))])
        assert not broken(both, both.guarantee(), [((90, 0), (91, 1))])

    def test_a_threshold_without_the_unit_s_own_count_is_too_low(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mechanism = two(1, of_unit=2)
        pairs = users(2, 2)
        assert not broken(mechanism, mechanism.guarantee(), pairs)
        right = price.CorrelatedPrice._passes

        def without(self: price.CorrelatedPrice, above: int, edge: object) -> Fraction:
            threshold = next(t for t in self.thresholds if t - above in (1, 2))
            return right(self, threshold, edge)

        monkeypatch.setattr(price.CorrelatedPrice, "_passes", without)
        wrong = replace(mechanism).guarantee()
        assert wrong.delta < mechanism.guarantee().delta
        assert broken(mechanism, wrong, pairs)

    def test_the_threshold_of_the_first_round_is_too_low_for_the_second(self) -> None:
        mechanism = two(2)
        lower = replace(mechanism, thresholds=(mechanism.thresholds[0], mechanism.thresholds[0] - 2))
        assert broken(lower, mechanism.guarantee(), events(2, 1))

    def test_a_label_that_is_known_only_because_it_was_counted_breaks(self) -> None:
        """As if the next life took its values from the counts of the last one, and not from what it has shown."""
        mechanism = three(9, 9, Sensitivity(1))
        lonely, nobody = FewRounds(mechanism, known=3), FewRounds(mechanism)
        (own, inverse), (empty, _) = lonely.shown((1, 0, 0)), nobody.shown((0, 0, 0))
        assert list(empty) == [0]
        shown = np.bincount(inverse, lonely.weight, len(own))[own != 0].sum()
        assert shown > 2 * mechanism.guarantee().delta

    def test_testing_a_label_only_when_it_has_an_event_breaks(self) -> None:
        mechanism = three(9, 9, Sensitivity(1))
        with_event, without = (14, 1, 0), (14, 0, 0)
        assert FewRounds(mechanism).breached(with_event, without, mechanism.guarantee()) is None
        careless = FewRounds(mechanism, only_when_seen=True)
        assert careless.breached(with_event, without, mechanism.guarantee()) is not None


class TestLaw:
    """What the program draws has the law that is enumerated."""

    @pytest.mark.parametrize("recursion", [COARSE, Recursion((7, 5), (2, 2), 3, 1, 1)], ids=str)
    def test_noise_of_every_round(self, recursion: Recursion) -> None:
        law = WideGaussian(Fraction(9))
        mechanism = CorrelatedHistogram(law, recursion, (9, 9, 9), 3, Sensitivity(1))
        world = FewRounds(mechanism)
        exact, weight = world.noise, world.weight
        key = NoiseKey(bytes(range(1, 33)))
        noise = KeyedRecursion(key, law, recursion)
        tags = key.tags(b"%d" % i for i in range(60_000))
        numbers = recursion.start(len(tags))
        drawn = []
        for t in range(1, 4):
            numbers = noise.after([noise.name(t, b"past")], tags, numbers)
            drawn.append(recursion.on_counts(numbers))
        for t in range(3):
            masses = np.bincount(exact[t] + 64, weight)
            verdict = g_test(drawn[t] + 64, {z: m / masses.sum() for z, m in enumerate(masses) if m})
            assert not verdict.rejected, verdict
        # Two rounds together, as one number.
        code = (exact[0] + 64) * 128 + exact[2] + 64
        masses = np.bincount(code, weight)
        verdict = g_test(
            (drawn[0] + 64) * 128 + drawn[2] + 64, {z: m / masses.sum() for z, m in enumerate(masses) if m}
        )
        assert not verdict.rejected, verdict
        apart = g_test(
            (drawn[0] + 64) * 128 + np.roll(drawn[2], 1) + 64,
            {z: m / masses.sum() for z, m in enumerate(masses) if m},
        )
        assert apart.rejected, "noise that is not correlated is seen"
