"""WeightOracle in memory, against weights worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from unlisted.counts.weight_oracle import ListedWeights
from unlisted.counts.weights import SHARES, UNIT, Rerouting, Weighing, full_weight


def weights(oracle: ListedWeights, weighing: Weighing) -> dict[str, int]:
    """All labels with their weights."""
    oracle.weigh(weighing)
    there = [(b, rank) for b, size in oracle.buckets(UNIT // 4, 30).items() for rank in range(size)]
    buckets, ranks = np.array(there, dtype=np.int64).reshape(-1, 2).T
    labels, found = oracle.named(buckets, ranks)
    return dict(zip(map(str, labels.to_pylist()), found.tolist(), strict=True))


def test_a_user_of_four_items_gives_each_a_half() -> None:
    oracle = ListedWeights({"a": ["w", "x", "y", "z"], "b": ["x"], "c": ["x", "x"]})
    assert weights(oracle, Weighing(4)) == {"w": UNIT // 2, "x": 5 * UNIT // 2, "y": UNIT // 2, "z": UNIT // 2}


def test_a_user_over_the_bound_keeps_the_first_in_the_order_of_labels() -> None:
    oracle = ListedWeights({"a": ["z", "é", "b", "B"], "b": ["é"]})
    assert weights(oracle, Weighing(1)) == {"B": UNIT, "é": UNIT}


def test_what_a_label_has_too_much_goes_back_and_is_spread() -> None:
    """Five users of x and one of x and y; x needs a weight of 2 of its 5.5 and gives back 7/11."""
    everybody = {str(u): ["x"] for u in range(5)} | {"both": ["x", "y"]}
    rerouting = Rerouting(enough=2 * UNIT, most_items=2)
    found = weights(ListedWeights(everybody), Weighing(2, rerouting))
    back = Fraction(int(Fraction(7, 11) * SHARES), SHARES)
    spread, full, even = rerouting.spread, Fraction(UNIT * 70710678118, 10**11), Fraction(UNIT, 2)
    # What x keeps, what "both" gives over the even half, and what the six users give of what they got.
    of_x = Fraction(11, 2) * UNIT * (1 - back) + (full - even) + (5 * UNIT + even) * back / spread
    of_y = full + even * back / spread
    assert found["x"] == pytest.approx(float(of_x), abs=2)
    assert found["y"] == pytest.approx(float(of_y), abs=2)
    assert found["y"] > weights(ListedWeights(everybody), Weighing(2))["y"]


def test_users_of_more_items_get_nothing_back() -> None:
    oracle = ListedWeights({str(u): ["x"] for u in range(5)} | {"both": ["x", "y"]})
    rerouting = Rerouting(enough=2 * UNIT, most_items=1)
    assert weights(oracle, Weighing(2, rerouting))["y"] == weights(oracle, Weighing(2))["y"]


def test_heavy_labels_share_the_last_bucket_and_weights_on_the_edge_lie_below_it() -> None:
    oracle = ListedWeights({str(u): ["x"] for u in range(9)} | {"a": ["y"], "b": ["z"]})
    oracle.weigh(Weighing(1))
    assert oracle.buckets(UNIT, 5) == {5: 1, 0: 2}
    assert oracle.buckets(UNIT - 1, 2) == {2: 1, 1: 2}


def test_what_is_taken_out_leaves_its_users_weight_to_the_rest() -> None:
    oracle = ListedWeights({"a": ["x", "y"], "b": ["x"], "c": ["x", "z"]}, adjacency="replace")
    oracle.weigh(Weighing(1))
    assert oracle.buckets(UNIT, 5) == {2: 1}
    oracle.take_out(np.array([2]), np.array([0]))
    assert weights(oracle, Weighing(1)) == {"y": UNIT, "z": UNIT}
    counts = oracle.counts_of_taken()
    assert (counts.labels.to_pylist(), counts.counts.tolist()) == (["x"], [3])
    assert (counts.sensitivity.items, counts.sensitivity.adjacency) == (None, "replace")


def test_only_what_is_in_play_is_weighed_and_what_was_taken_out_stays_out() -> None:
    oracle = ListedWeights({"a": ["w", "x", "y", "z"], "b": ["x"]})
    assert len(weights(oracle, Weighing(4))) == 4
    there = oracle.buckets(UNIT, 5)
    assert there == {0: 3, 1: 1}
    oracle.take_out(np.array([1]), np.array([0]))
    oracle.keep_in_play(np.array([0, 0]), np.array([0, 2]))
    assert weights(oracle, Weighing(4)) == dict.fromkeys("wz", full_weight(2))
    assert oracle.weights_at(np.array([2]), np.array([1])).tolist() == [full_weight(2)]
    assert oracle.counts_of_taken().labels.to_pylist() == ["x"]


def test_sizes_and_scaled_counts_are_of_all_items_of_what_was_taken_out() -> None:
    oracle = ListedWeights({"a": ["w", "x", "y", "z"], "b": ["x"], "c": ["q"]}, adjacency="replace")
    oracle.weigh(Weighing(4))
    assert oracle.buckets(UNIT, 5) == {0: 4, 1: 1}
    oracle.take_out(np.array([1, 0, 0]), np.array([0, 1, 2]))
    # x, w and y: user a has three of them and b has one.
    assert oracle.sizes_of_users() == {3: 1, 1: 1}
    counts = oracle.scaled_counts_of_taken(np.array([10, 7, 5]))
    assert dict(zip(counts.labels.to_pylist(), counts.counts.tolist(), strict=True)) == {"x": 15, "w": 5, "y": 5}
    assert (counts.sensitivity.count, counts.sensitivity.adjacency) == (10, "replace")


def test_labels_are_told_apart_by_their_bytes() -> None:
    oracle = ListedWeights({"a": [0.0, -0.0, 0.0]})
    oracle.weigh(Weighing(5))
    assert list(oracle.buckets(UNIT, 5).values()) == [2]


def test_nobody_is_weighed_as_nothing() -> None:
    oracle = ListedWeights({"a": []})
    oracle.weigh(Weighing(5, Rerouting(UNIT, 5)))
    assert oracle.buckets(UNIT, 5) == {}
    assert len(oracle.counts_of_taken()) == 0
