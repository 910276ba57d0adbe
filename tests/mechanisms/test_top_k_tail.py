"""A ranking of all counts whose small ones are only counted by size: draw for draw that of the listed labels."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fixtures.known_bits import KnownBits

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import ChargedFailureError, InvalidCountsError
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
HISTOGRAMS = st.dictionaries(st.text(max_size=2), st.integers(1, 9), max_size=12)


def in_a_row(histogram: dict[str, int], cut: int) -> dict[str, int]:
    """The large counts as they are, then the small ones by size."""
    large = {name: count for name, count in histogram.items() if count > cut}
    small = {name: count for name, count in histogram.items() if count <= cut}
    return large | dict(sorted(small.items(), key=lambda row: row[1]))


def profiled(row: dict[str, int], cut: int) -> CountProfile:
    """Say a row shortly; ranks are in its order."""
    named = {count: [name for name in row if row[name] == count] for count in range(1, cut + 1)}

    def fetch(counts: np.ndarray, ranks: np.ndarray) -> pa.Array:
        return pa.array([named[c][r] for c, r in zip(counts.tolist(), ranks.tolist(), strict=True)], pa.string())

    large = BoundedCounts.from_dict({name: count for name, count in row.items() if count > cut}, ONE)
    return CountProfile(large, {count: len(names) for count, names in named.items() if names}, fetch)


@given(HISTOGRAMS, st.integers(1, 10), st.integers(1, 6), st.booleans(), st.integers(0, 10**6))
def test_the_same_draws_give_the_same_ranking(
    histogram: dict[str, int], cut: int, k: int, counted: bool, seed: int
) -> None:
    law = DiscreteGaussian(4) if counted else None
    mechanism = TopK.at(Ranking(k, None, ONE), epsilon=1, delta="0.1", counts_law=law)
    row = in_a_row(histogram, cut)
    listed = mechanism.release(BoundedCounts.from_dict(row, ONE), KnownBits(f"ranking {seed}"))
    short = mechanism.release(profiled(row, cut), KnownBits(f"ranking {seed}"))
    assert short.labels.to_pylist() == listed.labels.to_pylist()
    assert (short.stopped, short.spent) == (listed.stopped, listed.spent)
    if counted:
        assert short.counts.tolist() == listed.counts.tolist()
    else:
        assert short.counts is None


def test_only_the_winners_are_named() -> None:
    asked = []

    def fetch(counts: np.ndarray, ranks: np.ndarray) -> pa.Array:
        asked.append((counts.tolist(), ranks.tolist()))
        return pa.array([f"the {rank}th of {count}" for count, rank in zip(counts, ranks, strict=True)])

    large = BoundedCounts.from_dict({"large": 40}, ONE)
    profile = CountProfile(large, {2: 10**6, 20: 1}, fetch)
    answer = TopK.at(Ranking(2, None, ONE), epsilon=2000, delta="1e-9").release(profile)
    assert answer.labels.to_pylist() == ["large", "the 0th of 20"]
    assert asked == [([20], [0])]


def test_a_ranking_of_the_largest_is_not_read_from_a_profile() -> None:
    with pytest.raises(InvalidCountsError, match="whole histogram"):
        TopK.at(Ranking(2, 5, ONE), epsilon=1, delta="1e-9").release(profiled({"a": 1}, 1))


def test_labels_that_are_gone_when_they_are_named_fail_charged() -> None:
    profile = CountProfile(
        BoundedCounts([], [], ONE), {9: 3}, lambda counts, _: pa.array(["a"] * (len(counts) - 1))
    )
    with pytest.raises(ChargedFailureError):
        TopK.at(Ranking(2, None, ONE), epsilon=2000, delta="1e-9").release(profile)
