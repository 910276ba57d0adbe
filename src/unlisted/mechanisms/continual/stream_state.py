"""Where a stream stands: its labels with the totals of the past, and the noise that belongs to them.

A label's noise is a function of key, label and what was brought so far, so nothing random has to be stored: what a
`StreamNoise` holds is kept only while it saves computing it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.text_order import is_text
from unlisted.mechanisms.continual.label_table import LabelTable
from unlisted.mechanisms.continual.tag_table import Column
from unlisted.noise.keyed import NoiseKey, Tags

_Scalar = TypeVar("_Scalar", bound=np.generic)


class StreamNoise(Protocol):
    """The noise of all labels of a stream. Immutable: `closed` returns the next one."""

    def tags(self, key: NoiseKey, labels: pa.Array, found: Tags) -> Tags:
        """Return what the noise of these labels is called by; `found` are the tags that they are found by."""
        ...

    def found_by(self, tags: Tags) -> Tags | None:
        """Return the tags that labels are found by, if those of their noise tell them."""
        ...

    def closed(self, key: NoiseKey, tags: Tags, contents: bytes) -> Self:
        """Return the noise at the end of a step with these contents, of the labels with these tags."""
        ...

    def on_counts(self) -> NDArray[np.int64]:
        """Return the noise on every label's running count."""
        ...

    def said(self) -> Mapping[str, Any]:
        """Return what names the present noise beside what has grown, as plain values."""
        ...

    def to_keep(self) -> tuple[int, NDArray[np.int64]] | None:
        """Return numbers that spare much drawing if they are kept, and after how many steps they were so."""
        ...

    def with_kept(self, step: int, numbers: NDArray[np.int64]) -> Self:
        """Return the noise with what was kept after a step at hand."""
        ...

    def grown(self, before: Self) -> Mapping[str, Any]:
        """Return what a round has added to the names of an earlier noise, as plain values."""
        ...

    def read(self, said: Mapping[str, Any], grown: Sequence[Mapping[str, Any]]) -> Self:
        """Return the noise that has these names, from none: what is not at hand is drawn again."""
        ...


@dataclass(frozen=True, eq=False)
class StreamState:
    """The state after `round` rounds. Immutable: `after` and `closed` return the next one.

    `begun` is the digest of the rounds since the last release, None right after one. The first `known` labels were
    there before the first round, with totals of 0: it was public that they might come.
    """

    key: NoiseKey
    round: int
    labels: LabelTable
    totals: NDArray[np.int64]
    tags: Column[np.uint8]
    shown: NDArray[np.bool_]
    noise: StreamNoise
    begun: bytes | None = None
    known: int = 0

    @classmethod
    def empty(cls, key: NoiseKey, noise: StreamNoise, known: pa.Array | None = None) -> StreamState:
        """Return the state before the first round, with labels that are known."""
        table, tags = LabelTable(key=key), key.tags([])
        if known is not None and len(known):
            found = table.tags(known)
            table, tags = table.appended(known, found), noise.tags(key, known, found)
        totals = np.zeros(len(table), dtype=np.int64)
        return cls(key, 0, table, totals, Column(tags), totals.astype(bool), noise, known=len(table))

    def after(self, counts: BoundedCounts, largest: int) -> StreamState:
        """Return the state after one more round, in which counts saturate at `largest`.

        Rounds saturate so that totals never do. A total that did would move by one less from some round on than
        before it: two changes to the noise's steps where one event may make only one.
        """
        labels, numbers, digest = in_order(counts)
        tags = self.labels.tags(labels)
        rows = self.labels.rows_of(labels, tags)
        unknown = np.flatnonzero(rows < 0)
        all_new = len(unknown) == len(labels)
        fresh, found = (labels, tags) if all_new else (label_rules.take(labels, unknown), tags[unknown])
        rows[unknown] = np.arange(len(self.labels), len(self.labels) + len(unknown))
        totals = _longer(self.totals, len(unknown))
        # Labels of a round are distinct, so no row is added to twice.
        totals[rows] += np.minimum(numbers, largest)
        return replace(
            self,
            round=self.round + 1,
            labels=self.labels.appended(fresh, found),
            totals=totals,
            tags=self.tags.appended(self.noise.tags(self.key, fresh, found)),
            shown=_longer(self.shown, len(unknown)),
            begun=digest if self.begun is None else hashlib.sha256(b"and then:" + self.begun + digest).digest(),
        )

    def closed(self) -> StreamState:
        """Return the state at the end of a step: the rounds since the last one get their noise."""
        if self.begun is None:
            return self
        return replace(self, noise=self.noise.closed(self.key, self.tags.values, self.begun), begun=None)

    def with_shown(self, shown: NDArray[np.bool_]) -> StreamState:
        """Remember what has been shown."""
        return replace(self, shown=shown)


@lru_cache(maxsize=1)
def in_order(counts: BoundedCounts) -> tuple[pa.Array, NDArray[np.int64], bytes]:
    """Return a round's labels and counts in the order of the labels' bytes, and a digest of both.

    A round is looked at twice, to know it again and to count it.
    """
    rows = counts.by_label
    labels, numbers = label_rules.take(counts.labels, rows), counts.counts[rows]
    return labels, numbers, digest_of(labels, numbers)


def digest_of(labels: pa.Array, counts: NDArray[np.int64]) -> bytes:
    """Return a digest of a round's bounded contents: how many labels, how long, their bytes, their counts."""
    if is_text(labels):
        ends = np.frombuffer(labels.buffers()[1], np.int32)[labels.offset : labels.offset + len(labels) + 1]
        kind, lengths = b"text", np.diff(ends) if len(ends) else ends
        names = memoryview(labels.buffers()[2] or b"")[ends[0] : ends[-1]] if len(labels) else b""
    else:
        encoded = label_rules.encode_all(labels)
        kind, lengths, names = b"encoded", np.array([len(name) for name in encoded]), b"".join(encoded)
    digest = hashlib.sha256(b"one round:%s:%d:" % (kind if len(labels) else b"empty", len(labels)))
    digest.update(lengths.astype("<i8").tobytes())
    digest.update(names)
    digest.update(counts.astype("<i8").tobytes())
    return digest.digest()


def _longer(values: NDArray[_Scalar], by: int) -> NDArray[_Scalar]:
    """Return a copy with zeros at its end."""
    longer = np.zeros(len(values) + by, values.dtype)
    longer[: len(values)] = values
    return longer
