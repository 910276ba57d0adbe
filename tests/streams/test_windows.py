"""The last so many rounds, from two releases: their true intervals, what was hidden before, and refusals."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.streams.brooks import brook, quiet_brook, shown

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.streams.settings import Settings
from unlisted.streams.stream import Stream


def test_the_last_rounds_are_what_came_in_them(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s")
    for one in ({"a": 30, "b": 40}, {"a": 5}, {"b": 7, "new": 20}, {"a": 1}):
        stream.push(one)
    assert shown(stream.last(1)) == [("a", 1)]
    assert shown(stream.last(3))[1:] == [("b", 7), ("a", 6)]
    assert shown(stream.last(2, at=3))[1:] == [("b", 7), ("a", 5)]
    assert shown(stream.last(4)) == shown(stream.last(99)) == shown(stream.release(4))
    assert stream.last(3).plan["window"] == {"from_round": 2, "to_round": 4}
    [new] = [row for row in stream.last(3).rows if row["item"] == "new"]
    assert (new["count"], new["low"] <= 20 <= new["high"]) == (18, True), "4 may have been hidden, 2 are taken off"
    assert stream.last(2).guarantee == stream.guarantee


def test_windows_lie_between_releases(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", release_every=2)
    with pytest.raises(InvalidArgumentError, match="number = 0"):
        stream.last(2)
    for _ in range(7):
        stream.push({"a": 10})
    assert shown(stream.last(2)) == [("a", 20)]
    for rounds in (1, 3, 0, "day"):
        with pytest.raises(InvalidArgumentError, match="rounds = "):
            stream.last(rounds)
    with pytest.raises(InvalidArgumentError, match="number = 5"):
        stream.last(2, at=5)


def test_items_of_several_columns(tmp_path: Path) -> None:
    stream = quiet_brook(tmp_path / "s", item=("x", "y"))
    for number in (1, 2):
        stream.push(pa.table({"user": range(40), "x": ["a", "b"] * 20, "y": [number] * 40}))
    assert [(row["x"], row["y"], row["count"]) for row in stream.last(1).rows] == [("a", 2, 18), ("b", 2, 18)]


@pytest.mark.parametrize("noise", ["correlated", "tree"])
def test_the_noise_of_a_difference_is_the_one_that_is_said(noise: str) -> None:
    """Over many labels, between several pairs of releases; and not that of two independent releases."""
    kind = {"correlated": CorrelatedHistogram, "tree": RunningHistogram}[noise]
    mechanism = kind.for_budget(Budget(epsilon=1, delta="1e-8"), 32, Sensitivity(1)).mechanism
    labels = {f"label {i}": 1 for i in range(4000)}
    state, noises = mechanism.start(NoiseKey(bytes(range(32)))), [np.zeros(4000)]
    for number in range(1, 31):
        state, _ = mechanism.step(state, BoundedCounts.from_dict(labels if number == 1 else {}, Sensitivity(1)))
        noises.append(state.noise.on_counts().astype(float))
    for before, now in ((0, 30), (1, 30), (6, 30), (23, 30), (29, 30), (8, 16)):
        found = (noises[now] - noises[before]).std()
        said = mechanism.noise_between(before, now).stddev
        assert abs(found / said - 1) < 5 / (2 * 4000) ** 0.5
    apart = (mechanism.noise_after(29).law.variance + mechanism.noise_after(30).law.variance) ** 0.5
    assert mechanism.noise_between(29, 30).stddev < 0.95 * apart


@pytest.mark.parametrize("start", [0, 60, 110, 160, 400])
def test_intervals_hold_the_truth_near_the_threshold_and_far_from_it(tmp_path: Path, start: int) -> None:
    """Of 3000 items with the same counts, those that are shown: at least 95 % of their intervals, less luck."""
    stream = brook(tmp_path / "s", variance=Fraction(225), threshold=110, rounds=16)
    names = [f"label {i}" for i in range(3000)]
    stream.push(dict.fromkeys(names, start) if start else {})
    for _ in range(3):
        stream.push({})
    for _ in range(5):
        stream.push(dict.fromkeys(names, 24))
    rows = stream.last(5).rows
    assert len(rows) > 300
    held = np.mean([row["low"] <= 120 <= row["high"] for row in rows])
    assert held > 0.95 - 4 * (0.05 * 0.95 / len(rows)) ** 0.5


def test_intervals_far_over_the_threshold_are_those_of_the_difference(tmp_path: Path) -> None:
    stream = Stream.create(
        tmp_path / "s", rounds=64, unit="event", items_per_event=1, budget=Budget(epsilon=1, delta="1e-8")
    )
    for _ in range(20):
        stream.push({"a": 1000})
    [row] = stream.last(1).rows
    assert isinstance(stream.settings, Settings)
    half = stream.settings.mechanism.noise_between(19, 20).half_width()
    assert (row["high"] - row["count"], row["count"] - row["low"]) == (half, half)
    assert half < stream.settings.mechanism.noise_after(20).law.half_width()
