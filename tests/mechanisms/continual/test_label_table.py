"""A stream names its labels by what is stored, so that no two become one on the way through Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity

STORED_BEYOND_PYTHON = [
    pa.array([1, 2], pa.time64("ns")),
    pa.array([1, 2], pa.timestamp("ns")),
    pa.array([2**62, 1], pa.timestamp("s")),
    pa.array([2**31 - 1, 1], pa.date32()),
    pa.array([1, 2], pa.duration("ns")),
    pa.StructArray.from_arrays([pa.array(["a", "a"]), pa.array([1, 2], pa.time64("ns"))], names=["x", "y"]),
]


@pytest.mark.parametrize("labels", STORED_BEYOND_PYTHON, ids=lambda labels: str(labels.type))
def test_labels_that_python_cannot_tell_apart_stay_apart(labels: pa.Array) -> None:
    assert len(set(label_rules.encode_all(labels))) == len(labels)
    sensitivity = Sensitivity(items=1)
    stream = RunningHistogram(DiscreteGaussian(Fraction(1)), (11, 11), 3, sensitivity)
    one_round = BoundedCounts(labels, [1000, 2000], sensitivity)
    answers = stream.release([one_round, one_round])
    assert [len(answer) for answer in answers] == [2, 2]
    assert abs(int(answers[1].counts[1]) - 2000) < 100, "each label keeps its own count"


@pytest.mark.parametrize(
    "labels",
    [
        ["", "a", "a\x00"],
        [b"", b"a"],
        [-1, 0, 1],
        [True, False],
        [0.0, -0.0, 1.5],
        [{"x": "a", "y": 1}, {"x": "b", "y": 1}],
    ],
    ids=repr,
)
def test_one_by_one_or_all_at_once_is_the_same(labels: list[object]) -> None:
    array = pa.array(labels)
    assert label_rules.encode_all(array) == [label_rules.encode(label) for label in array.to_pylist()]


def test_two_types_of_time_have_different_names() -> None:
    numbers = pa.array([1], pa.int64())
    named = [
        label_rules.encode_all(numbers.view(kind)) for kind in (pa.timestamp("s"), pa.timestamp("ms"), pa.int64())
    ]
    assert len({name for one in named for name in one}) == 3


def test_no_labels_have_no_names() -> None:
    assert label_rules.encode_all(pa.array([], pa.string())) == []
    assert label_rules.encode_all(pa.array([], pa.time64("ns"))) == []


def test_a_table_without_labels_has_none_since_then() -> None:
    table = LabelTable()
    assert table.since(0).to_pylist() == []
    assert table.take(np.array([], np.int64)).to_pylist() == []


def test_labels_since_a_row_are_those_added_after_it() -> None:
    table = LabelTable()
    for some in (["a", "b", "c"], ["d"], ["e"]):
        table = table.appended(pa.array(some))
    assert [table.since(rows).to_pylist() for rows in (0, 2, 4, 5)] == [
        ["a", "b", "c", "d", "e"],
        ["c", "d", "e"],
        ["e"],
        [],
    ]
