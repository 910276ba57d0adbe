"""Released labels by their group, which is their first column: places, and the order in which answers are read.

All of this is done to what was released, and changes nothing in what it costs. That groups cost what one user is
in, and no more, is proved in groups.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.whole_numbers import to_numpy
from unlisted.mechanisms.mechanism import Answer


def groups_of(labels: pa.Array) -> pa.Array:
    """Return the group of each label; of none where an empty list has no type."""
    return labels.field(0) if pa.types.is_struct(labels.type) else labels


def places_in_groups(labels: pa.Array) -> NDArray[np.int64]:
    """Return how many labels of the same group come before each."""
    _, codes = _encoded(labels)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], codes[order])
    places = np.empty(len(codes), dtype=np.int64)
    places[order] = np.arange(len(codes)) - starts
    return places


def number_of_groups(labels: pa.Array) -> int:
    """Return how many different groups labels are of."""
    return len(_encoded(labels)[0])


def by_group(answer: Answer, listed: Sequence[Any] | None) -> Answer:
    """Put the rows of an answer together by group: as the groups were listed, else in the order of their labels.

    Within a group rows stay in the order in which they were released.
    """
    groups, codes = _encoded(answer.labels)
    order = label_rules.order(groups, np.zeros(len(groups), dtype=np.int64))
    rank = np.empty(len(groups), dtype=np.int64)
    rank[order] = np.arange(len(groups))
    if listed is not None:
        at = {str(one): place for place, one in enumerate(listed)}
        # What an engine calls equal and writes otherwise comes last, in the order of labels.
        places = [at.get(str(one), len(at)) for one in groups.to_pylist()]
        rank = rank + len(groups) * np.array(places, dtype=np.int64)
    rows = np.argsort(rank[codes], kind="stable")
    counts = None if answer.counts is None else answer.counts[rows]
    columns = {name: one[rows] for name, one in answer.columns.items()}
    return replace(answer, labels=label_rules.take(answer.labels, rows), counts=counts, columns=columns)


def _encoded(labels: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the different groups of labels, and for each label which of them it is of."""
    encoded = groups_of(labels).dictionary_encode()
    return encoded.dictionary, to_numpy(encoded.indices.cast(pa.int64()))
