"""The labels that a stream has shown so far, each with its number: releases name them by it."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.mechanisms.continual.tag_table import Column

Numbers = NDArray[np.int64]


class MissingNamesError(Exception):
    """A number has no name: the record that had it is damaged."""


@dataclass(frozen=True)
class Named:
    """Labels that have the numbers from `first` on."""

    labels: pa.Array
    first: int

    @property
    def end(self) -> int:
        """The number behind the last."""
        return self.first + len(self.labels)

    def since(self, number: int) -> Named:
        """Return those that have this number or a higher one."""
        known = max(0, number - self.first)
        return Named(self.labels.slice(known), self.first + known)


class ShownNames:
    """Labels in the order in which they were shown first. Immutable: `with_all` returns a longer one.

    Numbers are given once. Where a part of the log is damaged, its names are missing, and the rest keep theirs.
    """

    def __init__(self, labels: LabelTable | None = None, numbers: Column[np.int64] | None = None) -> None:
        self._labels = labels or LabelTable()
        self._numbers = numbers or Column(np.zeros(0, dtype=np.int64))

    @property
    def end(self) -> int:
        """The number that the next new label gets."""
        return int(self._numbers.values[-1]) + 1 if len(self._numbers) else 0

    @property
    def type(self) -> pa.DataType | None:
        """The type of the labels, None before the first one."""
        return self._labels.type

    def with_all(self, named: Sequence[Named]) -> ShownNames:
        """Return the names with labels that are all new, and with higher and higher numbers."""
        labels = pa.concat_arrays([one.labels for one in named])
        numbers = np.concatenate([np.arange(one.first, one.end) for one in named])
        return ShownNames(self._labels.appended(labels), self._numbers.appended(numbers))

    def with_shown(self, labels: pa.Array, first: int = 0) -> ShownNames:
        """Return the names with all labels of a release; what is new gets the next numbers, from `first` on."""
        unknown = np.flatnonzero(self._labels.rows_of(labels) < 0)
        if not len(unknown):
            return self
        return self.with_all([Named(labels.take(pa.array(unknown)), max(first, self.end))])

    def numbers_of(self, labels: pa.Array) -> Numbers:
        """Return the number of every label, -1 for those that were never shown."""
        rows = self._labels.rows_of(labels)
        found = np.full(len(rows), -1, dtype=np.int64)
        found[rows >= 0] = self._numbers.values[rows[rows >= 0]]
        return found

    def take(self, numbers: Numbers) -> pa.Array:
        """Return the labels that have these numbers."""
        if not self.has(numbers):
            raise MissingNamesError
        return self._labels.take(np.searchsorted(self._numbers.values, numbers))

    def all(self) -> pa.Array:
        """Return all labels."""
        return self._labels.take(np.arange(len(self._labels)))

    def has(self, numbers: Numbers) -> bool:
        """Return whether all of these numbers have a name."""
        known = self._numbers.values
        rows = np.searchsorted(known, numbers)
        return not len(numbers) or (int(rows.max()) < len(known) and np.array_equal(known[rows], numbers))

    def to_bytes(self, first: int) -> bytes:
        """Return the names with the numbers from `first` on, as bytes; nothing if there are none."""
        rows = np.flatnonzero(self._numbers.values >= first)
        if not len(rows):
            return b""
        buffer = io.BytesIO()
        table = pa.table({"label": self._labels.take(rows)})
        with pa.ipc.new_stream(buffer, table.schema) as stream:
            stream.write_table(table)
        return zlib.compress(buffer.getvalue())


def labels_in(data: bytes) -> pa.Array:
    """Return the labels of what `to_bytes` wrote."""
    with pa.ipc.open_stream(zlib.decompress(data)) as stream:
        return pa.concat_arrays(stream.read_all().column("label").chunks)
