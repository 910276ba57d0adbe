"""Where a running histogram stands: totals of the past, and the noisy nodes that make up the present prefix.

Round t is made of the nodes of t's binary digits: node (level, index) covers the rounds from (index-1)·2^level +
1 to index·2^level, and prefix t uses (j, t >> j) for every j whose bit is set. A node's noise is a function of
key, label and node, and the node is named by its place *and the digest of its contents*, so other contents never
meet old noise. Nothing random is stored: noise is kept only while it saves computing it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.errors import InvalidCountsError
from unlisted.mechanisms import labels as label_rules
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.noise.exact_law import ExactLaw
from unlisted.noise.keyed import NoiseKey, Tags


@dataclass(frozen=True)
class Node:
    """A dyadic block of rounds and the digest of what happened in it."""

    level: int
    index: int
    digest: bytes

    def encoded(self) -> bytes:
        """Return the node's name: place and contents, injectively."""
        return b"%d:%d:%s" % (self.level, self.index, self.digest)


@dataclass(frozen=True, eq=False)
class RunningState:
    """The state after `round` rounds. Immutable: `after` returns the next one."""

    key: NoiseKey
    round: int
    labels: pa.Array
    totals: NDArray[np.int64]
    tags: Tags
    nodes: tuple[Node, ...]
    shown: NDArray[np.bool_]
    places: dict[bytes, int] = field(repr=False)
    node_noise: tuple[NDArray[np.int64], ...] = field(repr=False)

    @classmethod
    def empty(cls, key: NoiseKey) -> RunningState:
        """Return the state before the first round."""
        nobody = np.zeros(0, dtype=np.int64)
        return cls(key, 0, pa.nulls(0), nobody, key.tags([]), (), nobody.astype(bool), {}, ())

    def after(self, counts: BoundedCounts, law: ExactLaw, largest: int) -> RunningState:
        """Return the state after one more round, in which counts saturate at `largest`.

        Rounds saturate so that totals never do. A total that did would move by one less from some round on than
        before it: two changes to the nodes where one event may make only one.
        """
        encoded = label_rules.encode_all(counts.labels)
        known = dict(self.places)
        unknown = [i for i, name in enumerate(encoded) if name not in known]
        for i in unknown:
            known[encoded[i]] = len(known)
        totals = np.zeros(len(known), dtype=np.int64)
        totals[: len(self.totals)] = self.totals
        rows = np.array([known[name] for name in encoded], dtype=np.int64)
        # Labels of a round are distinct, so no row is added to twice.
        totals[rows] += np.minimum(counts.counts, largest)
        tags = np.concatenate([self.tags, self.key.tags(encoded[i] for i in unknown)])
        shown = np.zeros(len(known), dtype=bool)
        shown[: len(self.shown)] = self.shown
        nodes = _carried(self.nodes, self.round + 1, _digest_of_round(encoded, counts.counts))
        return RunningState(
            key=self.key,
            round=self.round + 1,
            labels=_joined(self.labels, label_rules.take(counts.labels, np.array(unknown, dtype=np.int64))),
            totals=totals,
            tags=tags,
            nodes=nodes,
            shown=shown,
            places=known,
            node_noise=self._noise_of(nodes, tags, law),
        )

    def _noise_of(self, nodes: tuple[Node, ...], tags: Tags, law: ExactLaw) -> tuple[NDArray[np.int64], ...]:
        """Return the noise of every label at these nodes, computing only what is not at hand."""
        at_hand = dict(zip(self.nodes, self.node_noise, strict=True))
        nothing = np.zeros(0, dtype=np.int64)
        noise = []
        for node in nodes:
            before = at_hand.get(node, nothing)
            # The law is part of the name: under one key, two scales must not share their bits.
            name = b"%s:%s" % (repr(law).encode(), node.encoded())
            fresh = law.sample_each(self.key.draws(name, tags[len(before) :]))
            noise.append(np.concatenate([before, fresh]))
        return tuple(noise)

    def noise(self) -> NDArray[np.int64]:
        """Return the noise on every label's running count: the sum over the prefix's nodes."""
        total = np.zeros(len(self.totals), dtype=np.int64)
        for noise in self.node_noise:
            total += noise
        return total

    def with_shown(self, shown: NDArray[np.bool_]) -> RunningState:
        """Remember what has been shown."""
        return replace(self, shown=shown)


def _carried(nodes: tuple[Node, ...], t: int, digest: bytes) -> tuple[Node, ...]:
    """Return the nodes of prefix t, largest first: as in binary addition, two equal blocks become one larger."""
    node, kept = Node(0, t, digest), list(nodes)
    while kept and kept[-1].level == node.level:
        left = kept.pop()
        both = hashlib.sha256(b"two blocks:" + left.digest + node.digest).digest()
        node = Node(node.level + 1, t >> (node.level + 1), both)
    return (*kept, node)


def _digest_of_round(encoded: list[bytes], counts: NDArray[np.int64]) -> bytes:
    """Return a digest of a round's bounded contents, whatever order they came in."""
    digest = hashlib.sha256(b"one round:")
    for name, count in sorted(zip(encoded, counts.tolist(), strict=True)):
        digest.update(b"%d:%s%d;" % (len(name), name, count))
    return digest.digest()


def _joined(before: pa.Array, fresh: pa.Array) -> pa.Array:
    # An empty array has no type to speak of: the first label decides it.
    if len(before) == 0 or len(fresh) == 0:
        return fresh if len(before) == 0 else before
    if before.type != fresh.type:
        raise InvalidCountsError("A round's labels are of another type than the stream's. Convert them first.")
    return pa.concat_arrays([before, fresh])
