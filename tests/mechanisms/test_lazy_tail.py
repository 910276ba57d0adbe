"""Lazy tails: the same answer, in law, without naming the labels that stay hidden."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits
from tests.mechanisms.small_worlds import mass_of
from tests.statistical.goodness import accepts, as_numbers, g_test, rejects

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import ChargedFailureError, InvalidCountsError
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)


def profiled(histogram: dict[str, int], cut: int, fetched: int | None = None, minimum: int = 1) -> CountProfile:
    """Say a histogram shortly: large counts one by one, the others by how many there are."""
    rows = sorted(
        ((name, c) for name, c in histogram.items() if c >= minimum), key=lambda row: (-row[1], row[0].encode())
    )
    bottom = minimum - 1
    if fetched is not None:
        bottom = rows[fetched][1] if len(rows) > fetched else bottom
        rows = rows[:fetched]
    large = BoundedCounts.from_dict({name: c for name, c in rows if c > cut}, ONE, minimum_count=minimum)
    small = {count: [name for name, c in rows if c == count] for count in range(1, cut + 1)}

    def fetch(counts: np.ndarray, ranks: np.ndarray) -> pa.Array:
        return pa.array([small[c][r] for c, r in zip(counts.tolist(), ranks.tolist(), strict=True)], pa.string())

    sizes = {count: len(labels) for count, labels in small.items() if labels}
    return CountProfile(large, sizes, fetch, fetched, bottom)


def test_the_lazy_law_is_the_plain_law_in_exact_fractions() -> None:
    """Binomial number, uniform subset, conditional noise: multiplied out, it is the product of single labels."""
    law = {z: Fraction(3, 5) / 4 ** abs(z) for z in range(-3, 4)}
    law = {z: p / sum(law.values()) for z, p in law.items()}
    threshold, classes = 2, {1: ("a", "b", "c"), 2: ("d", "e")}

    def one(count: int) -> dict[int | None, Fraction]:
        shown = {count + z: p for z, p in law.items() if count + z > threshold}
        return {None: 1 - sum(shown.values())} | shown

    plain: Counter = Counter()
    labels = [(label, count) for count, names in classes.items() for label in names]
    for values in itertools.product(*(one(count).items() for _, count in labels)):
        outcome = frozenset(
            (label, value) for (label, _), (value, _) in zip(labels, values, strict=True) if value is not None
        )
        plain[outcome] += math.prod(p for _, p in values)

    def lazy_class(count: int, names: tuple[str, ...]) -> dict[frozenset, Fraction]:
        shown = {value: p for value, p in one(count).items() if value is not None}
        chance = sum(shown.values())
        found: Counter = Counter()
        for passing in range(len(names) + 1):
            number = math.comb(len(names), passing) * chance**passing * (1 - chance) ** (len(names) - passing)
            for chosen in itertools.combinations(names, passing):
                uniform = Fraction(1, math.comb(len(names), passing))
                for values in itertools.product(shown.items(), repeat=passing):
                    given_passed = math.prod(p / chance for _, p in values)
                    outcome = frozenset(zip(chosen, (value for value, _ in values), strict=True))
                    found[outcome] += number * uniform * given_passed
        return found

    lazy: Counter = Counter()
    for parts in itertools.product(*(lazy_class(count, names).items() for count, names in classes.items())):
        lazy[frozenset().union(*(outcome for outcome, _ in parts))] += math.prod(p for _, p in parts)
    assert lazy == plain
    assert sum(plain.values()) == 1


TINY = {"a": 1, "b": 1, "c": 2, "d": 4}
REPEATS = 1500


def outcome_law(law: DiscreteLaplace | DiscreteGaussian, threshold: int) -> dict[tuple, float]:
    """Algorithm 1 on TINY, values pooled from three above the threshold on."""
    mass = mass_of(law)

    def one(count: int) -> dict[int, float]:
        near = {v: mass(v - count) for v in (threshold + 1, threshold + 2)}
        far = math.fsum(mass(v - count) for v in range(threshold + 3, threshold + 120))
        return {0: 1 - far - math.fsum(near.values())} | near | {threshold + 3: far}

    return {
        tuple(value for value, _ in values): math.prod(p for _, p in values)
        for values in itertools.product(*(one(count).items() for count in TINY.values()))
    }


def outcomes(mechanism: ThresholdHistogram, counts: object, name: str) -> list[tuple]:
    bits, found = KnownBits(name), []
    for _ in range(REPEATS):
        answer = mechanism.release(counts, bits)
        shown = dict(zip(answer.labels.to_pylist(), answer.counts.tolist(), strict=True))
        found.append(tuple(min(shown.get(label, 0), mechanism.threshold + 3) for label in TINY))
    return found


@pytest.mark.parametrize(
    ("law", "cut"), [(DiscreteLaplace(2), 2), (DiscreteLaplace(2), 4), (DiscreteGaussian(4), 2)]
)
def test_algorithm_1_from_a_profile_has_the_joint_law_of_algorithm_1(
    law: DiscreteLaplace | DiscreteGaussian, cut: int
) -> None:
    mechanism = ThresholdHistogram(law, 3, ONE)
    drawn = outcomes(mechanism, profiled(TINY, cut), f"lazy {law} {cut}")
    accepts(g_test(*as_numbers(drawn, outcome_law(law, 3))))
    # The same draws are not the law of a threshold one higher, nor of noise a third wider.
    rejects(g_test(*as_numbers(drawn, outcome_law(law, 4))))
    wider = DiscreteLaplace("2.6") if isinstance(law, DiscreteLaplace) else DiscreteGaussian("6.76")
    rejects(g_test(*as_numbers(drawn, outcome_law(wider, 3))))


def test_the_plain_path_has_that_law_too() -> None:
    law = DiscreteLaplace(2)
    mechanism = ThresholdHistogram(law, 3, ONE)
    drawn = outcomes(mechanism, BoundedCounts.from_dict(TINY, ONE), "plain")
    accepts(g_test(*as_numbers(drawn, outcome_law(law, 3))))
    rejects(g_test(*as_numbers(drawn, outcome_law(DiscreteLaplace("2.6"), 3))))


def top_outcome_law(law: DiscreteLaplace, threshold: int, fetched: int) -> dict[tuple, float]:
    """Algorithm 2 on TINY: which labels pass, by how far the noisy threshold is off."""
    mass = mass_of(law)
    ranked = sorted(TINY.items(), key=lambda row: (-row[1], row[0]))
    bottom = ranked[fetched][1]
    found: Counter = Counter()
    for z in range(-60, 61):
        over = threshold + bottom + z
        passing = {
            label: math.fsum(mass(v - count) for v in range(over + 1, over + 80))
            for label, count in ranked[:fetched]
        }
        for shown in itertools.product((False, True), repeat=fetched):
            chance = mass(z)
            for one, label in zip(shown, passing, strict=True):
                chance *= passing[label] if one else 1 - passing[label]
            key = (max(-3, min(3, z)), *(label for one, label in zip(shown, passing, strict=True) if one))
            found[key] += chance
    whole = math.fsum(found.values())
    return {key: chance / whole for key, chance in found.items()}


@pytest.mark.parametrize("cut", [1, 4])
def test_algorithm_2_from_a_profile_has_the_joint_law_of_algorithm_2(cut: int) -> None:
    """Threshold first, then the tail: what passes depends on where the noisy threshold fell."""
    law, fetched = DiscreteLaplace(2), 3
    mechanism = TopHistogram(law, 1, fetched, ONE)
    profile, bits, drawn = profiled(TINY, cut, fetched), KnownBits(f"lazy top {cut}"), []
    for _ in range(REPEATS):
        answer = mechanism.release(profile, bits)
        off = max(-3, min(3, answer.noisy_threshold - 1 - profile.bottom))
        drawn.append((off, *sorted(answer.labels.to_pylist(), key=lambda label: (-TINY[label], label))))
        assert all(count > answer.noisy_threshold for count in answer.counts)
    accepts(g_test(*as_numbers(drawn, top_outcome_law(law, 1, fetched))))
    rejects(g_test(*as_numbers(drawn, top_outcome_law(law, 2, fetched))))
    rejects(g_test(*as_numbers(drawn, top_outcome_law(DiscreteLaplace("2.6"), 1, fetched))))


def test_a_long_tail_is_as_often_and_as_high_as_its_law_says() -> None:
    """A million singletons: how many pass, which ones, and with which values."""
    law, threshold, labels = DiscreteLaplace(2), 9, 10**6
    mass = mass_of(law)
    asked: list[int] = []

    def fetch(counts: np.ndarray, ranks: np.ndarray) -> pa.Array:
        asked.extend(ranks.tolist())
        return pa.array(ranks)

    profile = CountProfile(BoundedCounts(pa.array([], pa.int64()), [], ONE), {1: labels}, fetch)
    answer = ThresholdHistogram(law, threshold, ONE).release(profile, KnownBits("a million"))
    chance = math.fsum(mass(z) for z in range(9, 120))
    deviation = math.sqrt(labels * chance * (1 - chance))
    assert abs(len(answer) - labels * chance) < 5 * deviation
    assert sorted(answer.labels.to_pylist()) == sorted(asked)
    values = {9 + j: mass(9 + j) / chance for j in range(120)}
    accepts(g_test(answer.counts - 1, values))
    rejects(g_test(answer.counts - 1, _wider(values)))
    tenth = dict.fromkeys(range(10), 0.1)
    accepts(g_test(np.array(asked) * 10 // labels, tenth))
    rejects(g_test(np.array(asked) ** 2 // labels * 10 // labels, tenth))


def _wider(values: dict[int, float]) -> dict[int, float]:
    """The conditional law of noise a tenth wider."""
    weights = {z: math.exp(-(z - 9) / 2.2) for z in values}
    whole = math.fsum(weights.values())
    return {z: weight / whole for z, weight in weights.items()}


class TestProfiles:
    def test_large_counts_are_complete(self) -> None:
        with pytest.raises(InvalidCountsError, match="complete above"):
            CountProfile(BoundedCounts(["a"], [9], ONE, fetched=3), {}, lambda c, r: [])

    @pytest.mark.parametrize("small", [{0: 1}, {-1: 1}, {1: -1}])
    def test_small_counts_are_counts(self, small: dict[int, int]) -> None:
        with pytest.raises(InvalidCountsError, match="1 or above"):
            CountProfile(BoundedCounts([], [], ONE), small, lambda c, r: [])

    def test_small_lies_below_large(self) -> None:
        with pytest.raises(InvalidCountsError, match="below its large ones"):
            CountProfile(BoundedCounts(["a"], [3], ONE), {3: 1}, lambda c, r: [])

    def test_a_top_has_no_more_labels_than_it_says(self) -> None:
        with pytest.raises(InvalidCountsError, match="more labels than that"):
            CountProfile(BoundedCounts(["a"], [3], ONE), {1: 2}, lambda c, r: [], fetched=2)

    def test_a_bottom_of_zero_where_small_counts_were_cut_off_is_refused(self) -> None:
        """It would lower the threshold by as much as was cut off."""
        large = BoundedCounts(["a"], [9], ONE, minimum_count=5)
        with pytest.raises(InvalidCountsError, match="4 without one"):
            CountProfile(large, {}, lambda c, r: [], fetched=3)
        CountProfile(large, {}, lambda c, r: [], fetched=3, bottom=4)
        with pytest.raises(InvalidCountsError, match="bottom"):
            CountProfile(large, {}, lambda c, r: [], fetched=1, bottom=3)
        CountProfile(large, {}, lambda c, r: [], fetched=1, bottom=7)

    def test_a_bottom_without_a_count_to_be_it_is_refused(self) -> None:
        with pytest.raises(InvalidCountsError, match="0 without one"):
            CountProfile(BoundedCounts(["a"], [9], ONE), {}, lambda c, r: [], fetched=3, bottom=2)

    def test_what_changes_between_two_looks_fails_charged(self) -> None:
        profile = CountProfile(
            BoundedCounts([], [], ONE), {1: 10**6}, lambda counts, ranks: pa.array(["only one"])
        )
        with pytest.raises(ChargedFailureError, match="could not be answered; charged; see the log"):
            ThresholdHistogram(DiscreteLaplace(2), 3, ONE).release(profile)

    def test_algorithm_1_reads_no_top_profile(self) -> None:
        profile = CountProfile(BoundedCounts([], [], ONE), {}, lambda c, r: [], fetched=3)
        with pytest.raises(InvalidCountsError, match="needs all counts"):
            ThresholdHistogram(DiscreteLaplace(2), 3, ONE).release(profile)

    def test_a_profile_declares_what_its_large_counts_declare(self) -> None:
        profile = CountProfile(BoundedCounts([], [], Sensitivity(2)), {1: 5}, lambda c, r: [])
        with pytest.raises(InvalidCountsError, match="priced for 1"):
            ThresholdHistogram(DiscreteLaplace(2), 3, ONE).release(profile)

    @given(st.dictionaries(st.text(max_size=2), st.integers(1, 6), max_size=9), st.integers(0, 6))
    def test_without_noise_both_paths_agree(self, histogram: dict[str, int], cut: int) -> None:
        mechanism = ThresholdHistogram(DiscreteLaplace("0.02"), 3, ONE)
        plain = mechanism.release(BoundedCounts.from_dict(histogram, ONE))
        lazy = mechanism.release(profiled(histogram, cut))
        assert lazy.labels.to_pylist() == plain.labels.to_pylist()
        assert lazy.counts.tolist() == plain.counts.tolist()
        assert lazy.spent == plain.spent

    @given(
        st.dictionaries(st.text(max_size=2), st.integers(1, 6), max_size=9),
        st.integers(0, 6),
        st.integers(1, 9),
        st.integers(1, 3),
    )
    def test_without_noise_both_tops_agree(
        self, histogram: dict[str, int], cut: int, fetched: int, minimum: int
    ) -> None:
        mechanism = TopHistogram(DiscreteLaplace("0.02"), 1, fetched, ONE)
        plain = mechanism.release(BoundedCounts.from_dict(histogram, ONE, minimum_count=minimum))
        lazy = mechanism.release(profiled(histogram, cut, fetched, minimum))
        assert lazy.labels.to_pylist() == plain.labels.to_pylist()
        assert lazy.counts.tolist() == plain.counts.tolist()
        assert lazy.noisy_threshold == plain.noisy_threshold
