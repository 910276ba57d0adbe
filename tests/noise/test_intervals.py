"""Error bars: they hold the bounded count as often as they say, also for items that barely appeared."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.fixtures.known_bits import KnownBits
from tests.statistical.goodness import ALPHA

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.mechanism import Answer
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise import intervals
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity


def released_intervals(mechanism: TruncatedHistogram, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the intervals of these shown counts, as the mechanism makes them."""
    labels = pa.array([str(at) for at in range(len(shown))])
    found = mechanism.intervals(Answer(labels, shown, mechanism.guarantee()))
    assert found is not None
    return found


OurLaw = DiscreteGaussian | DiscreteLaplace
LAWS: list[OurLaw] = [
    DiscreteLaplace(Fraction(1, 2)),
    DiscreteLaplace(Fraction(3)),
    DiscreteLaplace(Fraction(40)),
    DiscreteGaussian(Fraction(1, 4)),
    DiscreteGaussian(Fraction(3)),
    DiscreteGaussian(Fraction(16)),
    DiscreteGaussian(Fraction(17)),
    DiscreteGaussian(Fraction(300)),
]


def name(law: OurLaw) -> str:
    return str(law)


def log_masses(law: OurLaw, z: np.ndarray) -> np.ndarray:
    """The law's masses up to a factor, as logarithms: written down from its definition."""
    if isinstance(law, DiscreteLaplace):
        return -np.abs(z) / float(law.scale)
    return -(z.astype(float) ** 2) / (2 * float(law.variance))


def coverage(
    law: OurLaw, threshold: int, count: int, ends: tuple[np.ndarray, np.ndarray], shown: np.ndarray
) -> float:
    """The chance that an interval holds the count, given that its noisy value passed: a sum over all values."""
    logs = log_masses(law, shown - count)
    given = np.exp(logs - logs.max())
    given /= given.sum()
    low, high = ends
    return float(given[(low <= count) & (count <= high)].sum())


def values_above(law: OurLaw, threshold: int, count: int) -> np.ndarray:
    spread = 40 * law.half_width() + 40
    return np.arange(threshold + 1, max(threshold, count) + spread)


def is_too_rare(held: int, shown: int) -> bool:
    """Whether an interval that holds its count 95 times in a hundred would hardly ever do so this seldom."""
    return bool(stats.binom.cdf(held, shown, 0.95) < ALPHA)


@pytest.mark.parametrize("law", LAWS, ids=name)
@pytest.mark.parametrize("threshold", [8, 100, 2500])
def test_exactly_at_least_95_percent_given_that_it_was_shown(law: OurLaw, threshold: int) -> None:
    counts = {1, 2, threshold // 2, threshold - 3, threshold, threshold + 1, threshold + 9, 2 * threshold + 50}
    for count in sorted(counts):
        shown = values_above(law, threshold, count)
        held = coverage(law, threshold, count, intervals.given_shown(law, threshold, shown), shown)
        # Tails are estimates for display, good to about a thousandth of themselves.
        assert held >= 0.9495, f"count {count} is held {held:.4f} of the time"


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_far_over_the_threshold_they_are_as_narrow_as_plain_ones(law: OurLaw) -> None:
    shown = np.array([10**6, 10**9, 2**60])
    conditioned, plain = intervals.given_shown(law, 50, shown), intervals.plain(law, shown)
    for ends, plain_ends in zip(conditioned, plain, strict=True):
        assert np.all(np.abs(ends - plain_ends) <= 1)


def test_plain_intervals_would_be_wrong_near_the_threshold() -> None:
    law, threshold, count = DiscreteGaussian(Fraction(300)), 107, 70
    shown = values_above(law, threshold, count)
    assert coverage(law, threshold, count, intervals.plain(law, shown), shown) < 0.5


@pytest.mark.parametrize("law", [DiscreteGaussian(Fraction(300)), DiscreteLaplace(Fraction(12))], ids=name)
@pytest.mark.parametrize("lead", [-25, 0, 15, 200])
def test_released_counts_are_held_as_often_as_said(law: OurLaw, lead: int) -> None:
    """The mechanism's own draws, and not what somebody says about them."""
    threshold = 107
    mechanism = ThresholdHistogram(law, threshold, Sensitivity(1))
    count, labels = threshold + lead, 60_000
    counts = BoundedCounts(np.arange(labels), np.full(labels, count), Sensitivity(1))
    shown = mechanism.release(counts, KnownBits(f"intervals {law} {lead}")).counts
    assert shown is not None
    low, high = intervals.given_shown(law, threshold, shown)
    held = int(((low <= count) & (count <= high)).sum())
    assert len(shown) > 1000
    assert not is_too_rare(held, len(shown)), f"{held} of {len(shown)}"
    # The twin: intervals that ignore the selection are found out where it matters.
    plain_low, plain_high = intervals.plain(law, shown)
    held_plainly = int(((plain_low <= count) & (count <= plain_high)).sum())
    assert is_too_rare(held_plainly, len(shown)) == (lead == -25)
    # And so are intervals that are a tenth too narrow.
    if lead == 200:
        narrow = (high - low) // 20
        held_narrowly = int(((low + narrow <= count) & (count <= high - narrow)).sum())
        assert is_too_rare(held_narrowly, len(shown))


@pytest.mark.parametrize("law", [DiscreteGaussian(Fraction(300)), DiscreteLaplace(Fraction(12))], ids=name)
def test_counts_over_a_noisy_threshold_are_held_as_often_as_said(law: OurLaw) -> None:
    threshold, bottom, count, labels = 60, 5000, 5035, 20_000
    mechanism = TopHistogram(law, threshold, labels, Sensitivity(1))
    listed = np.append(np.full(labels, count), bottom)
    counts = BoundedCounts(np.arange(labels + 1), listed, Sensitivity(1), fetched=labels)
    bits = KnownBits(f"noisy threshold {law}")
    passed = held = held_plainly = 0
    for _ in range(4):
        answer = mechanism.release(counts, bits)
        assert answer.counts is not None
        assert answer.noisy_threshold is not None
        ends = mechanism.intervals(answer)
        assert ends is not None
        low, high = ends
        plain_low, plain_high = intervals.plain(law, answer.counts)
        passed += len(answer)
        held += int(((low <= count) & (count <= high)).sum())
        held_plainly += int(((plain_low <= count) & (count <= plain_high)).sum())
    assert passed > 1000
    assert not is_too_rare(held, passed), f"{held} of {passed}"
    assert is_too_rare(held_plainly, passed), "the twin that ignores the threshold is found out"


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_the_ends_are_in_order_and_hold_the_shown_value(law: OurLaw) -> None:
    for threshold in (3, 107, 10**6):
        shown = np.concatenate([np.arange(threshold + 1, threshold + 400), [2**40, 2**62]])
        low, high = intervals.given_shown(law, threshold, shown)
        assert np.all(low >= 1)
        assert np.all(low <= shown)
        assert np.all(shown <= high)
        assert np.all(np.diff(low) >= 0)
        assert np.all(np.diff(high) >= 0)


def test_a_value_that_barely_passed_says_little_about_how_small_the_count_may_be() -> None:
    for law in LAWS:
        low, _ = intervals.given_shown(law, 10_000, np.array([10_001]))
        assert low[0] == 1, f"{law}"


def test_a_laplace_tail_says_nothing_until_a_value_is_well_over_the_threshold() -> None:
    law, threshold = DiscreteLaplace(Fraction(10)), 5000
    shown = np.arange(threshold + 1, threshold + 60)
    low, _ = intervals.given_shown(law, threshold, shown)
    # P[c + Z >= y | c + Z > T] is the same for all c below T, e^{-(y-T-1)/b}: a surprise from 37 on.
    first_surprise = threshold + 1 + math.ceil(10 * math.log(1 / 0.025))
    assert np.all(low[shown < first_surprise] == 1)
    assert np.all(low[shown >= first_surprise] > threshold - 20)


def test_no_rows_have_no_ends() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    for law in LAWS:
        assert [len(ends) for ends in intervals.given_shown(law, 50, nothing)] == [0, 0]
        assert [len(ends) for ends in intervals.plain(law, nothing)] == [0, 0]


def test_the_largest_numbers_saturate() -> None:
    most = np.iinfo(np.int64).max
    law = DiscreteGaussian(Fraction(300))
    for low, high in (intervals.given_shown(law, 107, np.array([most])), intervals.plain(law, np.array([most]))):
        assert low[0] < most
        assert high[0] == most


def test_the_ends_of_fresh_counts_are_possible_counts() -> None:
    low, high = intervals.plain(DiscreteGaussian(Fraction(300)), np.array([-100, 0, 10, 500]))
    assert low.tolist() == [1, 1, 1, 466]
    assert high.tolist() == [1, 34, 44, 534]


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_the_logarithm_of_a_tail_is_that_of_the_tail(law: OurLaw) -> None:
    spread = law.stddev
    points = sorted({-5, 0, 1, 2, *(math.ceil(multiple * spread) for multiple in (1, 3, 6, 7, 12, 20, 60))})
    ours = law.log_survival(np.array(points))
    reach = math.ceil(60 * spread) + 60
    total = log_sum(log_masses(law, np.arange(-reach, reach)))
    for point, log in zip(points, ours, strict=True):
        exact = log_sum(log_masses(law, np.arange(point, point + reach))) - total
        assert log == pytest.approx(exact, abs=0.01), f"P[Z >= {point}]"


def log_sum(logs: np.ndarray) -> float:
    return float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))


def shown_law(mechanism: TruncatedHistogram, count: int) -> dict[int, float]:
    """What a label of this count is shown as, given that it is: both sides of its coin, from the definition."""
    share, b = mechanism.narrowed / 2**64, float(mechanism.scale)
    found: dict[int, float] = {}
    for chance, reach, threshold in (
        (1 - share, mechanism.reach, mechanism.threshold),
        (share, mechanism.reach - 1, mechanism.threshold - 1),
    ):
        whole = math.fsum(math.exp(-abs(x) / b) for x in range(-reach, reach + 1))
        for x in range(-reach, reach + 1):
            if count + x > threshold:
                found[count + x] = found.get(count + x, 0.0) + chance * math.exp(-abs(x) / b) / whole
    passed = math.fsum(found.values())
    return {value: chance / passed for value, chance in found.items()}


TRUNCATED = [
    TruncatedHistogram(Fraction(epsilon), Fraction(delta), Sensitivity(items, rows), minimum)
    for epsilon, delta, items, rows, minimum in [
        ("1", "1e-8", 1, 1, 1),
        ("1", "1e-8", 3, 1, 1),
        ("0.1", "1e-3", 1, 1, 1),
        ("6", "1e-4", 1, 1, 1),
        ("40", "1e-9", 1, 1, 1),
        ("2", "1e-6", 2, 5, 1),
        ("1", "1e-8", 1, 1, 6),
    ]
]


@pytest.mark.parametrize("mechanism", TRUNCATED, ids=str)
def test_noise_that_ends_is_held_at_least_95_percent_given_that_it_was_shown(
    mechanism: TruncatedHistogram,
) -> None:
    reach, least = mechanism.reach, mechanism.minimum_count
    edges = {least, least + 1, reach - 1, reach, reach + 1, 2 * reach - 1, 2 * reach, 2 * reach + 1, 5 * reach}
    for count in sorted(count for count in edges if count >= least):
        law = shown_law(mechanism, count)
        shown = np.array(sorted(law))
        low, high = released_intervals(mechanism, shown)
        assert np.all((low >= least) & (low <= np.maximum(shown, least)) & (shown <= high))
        held = math.fsum(law[int(y)] for y, a, b in zip(shown, low, high, strict=True) if a <= count <= b)
        assert held >= 0.9499, f"count {count} is held {held:.4f} of the time"


def test_noise_that_ends_never_needs_wider_intervals_than_its_reach() -> None:
    mechanism = TRUNCATED[0]
    shown = np.array([mechanism.lowest_shown, 30, 10**6, 2**60])
    low, high = released_intervals(mechanism, shown)
    assert np.all(high - shown <= mechanism.reach)
    assert np.all(shown - low <= mechanism.reach)
    # Far over the threshold they are those of Laplace noise of scale 1.
    plain_low, plain_high = intervals.plain(DiscreteLaplace(Fraction(1)), shown)
    assert (low[2:] == plain_low[2:]).all()
    assert (high[2:] == plain_high[2:]).all()


def test_released_counts_of_noise_that_ends_are_held_as_often_as_said() -> None:
    """The mechanism's own draws, just below the threshold, where a plain interval is found out."""
    mechanism, labels = TruncatedHistogram(Fraction(1), Fraction("1e-8"), Sensitivity(3)), 60_000
    count = mechanism.threshold - 8
    counts = BoundedCounts(np.arange(labels), np.full(labels, count), Sensitivity(3))
    shown = mechanism.release(counts, KnownBits("intervals of ends")).counts
    assert shown is not None
    assert len(shown) > 1000
    held = [
        int(((low <= count) & (count <= high)).sum())
        for low, high in (
            released_intervals(mechanism, shown),
            intervals.plain(DiscreteLaplace(mechanism.scale), shown),
        )
    ]
    assert not is_too_rare(held[0], len(shown))
    assert is_too_rare(held[1], len(shown))


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(3)), DiscreteGaussian(Fraction(17))], ids=name)
@pytest.mark.parametrize("share", [0.1, 0.8])
def test_a_threshold_that_a_coin_lowers_keeps_intervals_honest(law: OurLaw, share: float) -> None:
    threshold = 60
    for count in (1, 30, 55, 59, 60, 61, 70, 200):
        shown = np.concatenate([[threshold], values_above(law, threshold, count)])
        logs = log_masses(law, shown - count)
        given = np.exp(logs - logs.max()) * np.where(shown == threshold, share, 1.0)
        given /= given.sum()
        low, high = intervals.given_shown(law, threshold, shown, lowered=share)
        held = float(given[(low <= count) & (count <= high)].sum())
        assert held >= 0.9495, f"count {count} is held {held:.4f} of the time"
