"""Where a running histogram stands: totals of the past, and the noisy nodes that make up the present prefix.

`binary_tree.py` says which nodes there are. A node's noise is a function of key, label and node, and the node is
named by its place *and the digest of its contents*, so other contents never meet old noise. Nothing random is
stored: noise is kept only while it saves computing it again. It is kept added up, node by node from the largest to
the smallest, so a step that closes one node draws the noise of that one and adds it to what lies below.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.whole_numbers import to_numpy
from unlisted.mechanisms.continual.label_table import Column, LabelTable, is_text
from unlisted.noise.keyed import NoiseKey
from unlisted.noise.law import ExactLaw

_Scalar = TypeVar("_Scalar", bound=np.generic)
Sums = Column[np.signedinteger]


@dataclass(frozen=True)
class Node:
    """A dyadic block of steps and the digest of what happened in it."""

    level: int
    index: int
    digest: bytes

    def encoded(self) -> bytes:
        """Return the node's name: place and contents, injectively."""
        return b"%d:%d:%s" % (self.level, self.index, self.digest)


@dataclass(frozen=True, eq=False)
class RunningState:
    """The state after `round` rounds. Immutable: `after` and `closed` return the next one.

    `begun` is the digest of the rounds since the last release, None right after one. `sums[i]` is the noise of the
    nodes 0 … i of every label, added up.
    """

    key: NoiseKey
    round: int
    labels: LabelTable
    totals: NDArray[np.int64]
    tags: Column[np.uint8]
    nodes: tuple[Node, ...]
    shown: NDArray[np.bool_]
    begun: bytes | None = None
    sums: tuple[Sums, ...] = field(default=(), repr=False)

    @classmethod
    def empty(cls, key: NoiseKey) -> RunningState:
        """Return the state before the first round."""
        nobody = np.zeros(0, dtype=np.int64)
        return cls(key, 0, LabelTable(), nobody, Column(key.tags([])), (), nobody.astype(bool))

    def after(self, counts: BoundedCounts, largest: int) -> RunningState:
        """Return the state after one more round, in which counts saturate at `largest`.

        Rounds saturate so that totals never do. A total that did would move by one less from some round on than
        before it: two changes to the nodes where one event may make only one.
        """
        labels, numbers = in_order(counts)
        rows = self.labels.rows_of(labels)
        unknown = np.flatnonzero(rows < 0)
        fresh = label_rules.take(labels, unknown)
        rows[unknown] = np.arange(len(self.labels), len(self.labels) + len(unknown))
        totals = _longer(self.totals, len(unknown))
        # Labels of a round are distinct, so no row is added to twice.
        totals[rows] += np.minimum(numbers, largest)
        digest = digest_of(labels, numbers)
        return replace(
            self,
            round=self.round + 1,
            labels=self.labels.appended(fresh),
            totals=totals,
            tags=self.tags.appended(self.key.tags(label_rules.encode_all(fresh))),
            shown=_longer(self.shown, len(unknown)),
            begun=digest if self.begun is None else hashlib.sha256(b"and then:" + self.begun + digest).digest(),
        )

    def closed(self, law: ExactLaw) -> RunningState:
        """Return the state at the end of a step: the rounds since the last one are a leaf of the tree now."""
        if self.begun is None:
            return self
        nodes = _carried(self.nodes, self.begun)
        kept = len(nodes) - 1
        return replace(self, nodes=nodes, begun=None, sums=self.sums[:kept]).with_noise(law)

    def with_noise(self, law: ExactLaw) -> RunningState:
        """Return the same state with the noise of all nodes at hand, drawing only what is missing."""
        sums: list[Sums] = []
        for i, node in enumerate(self.nodes):
            before = self.sums[i] if i < len(self.sums) else Column(np.zeros(0, _width(law)))
            missing = self.tags.values[len(before) :]
            # The law is part of the name: under one key, two scales must not share their bits.
            name = b"%s:%s" % (repr(law).encode(), node.encoded())
            drawn = law.sample_each(self.key.draws(name, missing)).astype(before.values.dtype)
            sums.append(before.appended(drawn if i == 0 else drawn + sums[-1].values[len(before) :]))
        return replace(self, sums=tuple(sums))

    def noise(self) -> NDArray[np.int64]:
        """Return the noise on every label's running count: the sum over the prefix's nodes."""
        if not self.sums:
            return np.zeros(len(self.totals), dtype=np.int64)
        return self.sums[-1].values.astype(np.int64)

    def with_shown(self, shown: NDArray[np.bool_]) -> RunningState:
        """Remember what has been shown."""
        return replace(self, shown=shown)


def in_order(counts: BoundedCounts) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return a round's labels and counts in the order of the labels' bytes, whatever order they came in."""
    labels = counts.labels
    if is_text(labels):
        rows = to_numpy(pc.sort_indices(labels).cast(pa.int64()))
    else:
        names = label_rules.encode_all(labels)
        rows = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    return label_rules.take(labels, rows), counts.counts[rows]


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


def _carried(nodes: tuple[Node, ...], digest: bytes) -> tuple[Node, ...]:
    """Return the nodes of the next prefix, largest first: as in binary addition, two equal blocks become one."""
    t = sum(1 << node.level for node in nodes) + 1
    node, kept = Node(0, t, digest), list(nodes)
    while kept and kept[-1].level == node.level:
        left = kept.pop()
        both = hashlib.sha256(b"two blocks:" + left.digest + node.digest).digest()
        node = Node(node.level + 1, t >> (node.level + 1), both)
    return (*kept, node)


def _longer(values: NDArray[_Scalar], by: int) -> NDArray[_Scalar]:
    """Return a copy with zeros at its end."""
    longer = np.zeros(len(values) + by, values.dtype)
    longer[: len(values)] = values
    return longer


def _width(law: ExactLaw) -> type[np.signedinteger]:
    """Return the numbers that sums of this noise fit into: what a table draws is far below 2^31."""
    return np.int32 if law.fits_a_table else np.int64
