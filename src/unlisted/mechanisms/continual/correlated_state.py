"""Where a stream with correlated noise stands: totals of the past, and five numbers of noise for each label.

The draw of a label at a step is a function of key, label, step and the *chain* of everything brought up to that
step. A step's noise enters all later ones, so after other contents every draw must be another one: had two copies
of a stream one draw in common after they parted, the difference of their answers would tell the difference of
their counts. A label that is new replays all steps with the chains of the past, which are kept, one for each step.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.mechanisms.continual.correlated_noise import CorrelatedNoise
from unlisted.mechanisms.continual.label_table import Column, LabelTable
from unlisted.mechanisms.continual.recursion import Numbers, Recursion
from unlisted.mechanisms.continual.stream_state import digest_of, in_order
from unlisted.mechanisms.continual.wide_gaussian import WideGaussian
from unlisted.noise.keyed import NoiseKey

CHAIN_BYTES = 32


@dataclass(frozen=True, eq=False)
class CorrelatedState:
    """The state after `round` rounds. Immutable: `after` and `closed` return the next one.

    `begun` is the digest of the rounds since the last release, None right after one. `chains` has one row for each
    step. `numbers` has W and S of the labels that were there at the last release.
    """

    key: NoiseKey
    round: int
    labels: LabelTable
    totals: NDArray[np.int64]
    tags: Column[np.uint8]
    chains: Column[np.uint8]
    shown: NDArray[np.bool_]
    numbers: Numbers = field(repr=False)
    begun: bytes | None = None

    @classmethod
    def empty(cls, key: NoiseKey, recursion: Recursion) -> CorrelatedState:
        """Return the state before the first round."""
        nobody = np.zeros(0, dtype=np.int64)
        chains = Column(np.zeros((0, CHAIN_BYTES), dtype=np.uint8))
        tags = Column(key.tags([]))
        return cls(key, 0, LabelTable(), nobody, tags, chains, nobody.astype(bool), recursion.start(0))

    def after(self, counts: BoundedCounts, largest: int) -> CorrelatedState:
        """Return the state after one more round; its counts saturate at `largest`, so that totals never do."""
        labels, numbers = in_order(counts)
        rows = self.labels.rows_of(labels)
        unknown = np.flatnonzero(rows < 0)
        fresh = label_rules.take(labels, unknown)
        rows[unknown] = np.arange(len(self.labels), len(self.labels) + len(unknown))
        totals = np.concatenate([self.totals, np.zeros(len(unknown), dtype=np.int64)])
        # Labels of a round are distinct, so no row is added to twice.
        totals[rows] += np.minimum(numbers, largest)
        digest = digest_of(labels, numbers)
        return replace(
            self,
            round=self.round + 1,
            labels=self.labels.appended(fresh),
            totals=totals,
            tags=self.tags.appended(self.key.tags(label_rules.encode_all(fresh))),
            shown=np.concatenate([self.shown, np.zeros(len(unknown), dtype=bool)]),
            begun=digest if self.begun is None else hashlib.sha256(b"and then:" + self.begun + digest).digest(),
        )

    def closed(self, law: WideGaussian, recursion: Recursion) -> CorrelatedState:
        """Return the state at the end of a step: one more draw for every label, all of them for new ones."""
        if self.begun is None:
            return self
        before = self.chains.values[-1].tobytes() if len(self.chains) else b""
        chain = hashlib.sha256(b"one more step:" + before + self.begun).digest()
        chains = self.chains.appended(np.frombuffer(chain, dtype=np.uint8).reshape(1, -1))
        noise, step = CorrelatedNoise(self.key, law, recursion), len(chains)
        known, tags = self.numbers.shape[1], self.tags.values
        numbers = noise.after([noise.name(step, chain)], tags[:known], self.numbers)
        if len(tags) > known:
            # As if they had been there from the first step on, with counts of 0.
            names = [noise.name(past, chains.values[past - 1].tobytes()) for past in range(1, step + 1)]
            fresh = noise.after(names, tags[known:], recursion.start(len(tags) - known))
            numbers = np.concatenate([numbers, fresh], axis=1)
        return replace(self, chains=chains, begun=None, numbers=numbers)

    def with_shown(self, shown: NDArray[np.bool_]) -> CorrelatedState:
        """Remember what has been shown."""
        return replace(self, shown=shown)
