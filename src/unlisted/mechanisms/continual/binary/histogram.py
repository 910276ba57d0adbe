"""The unknown-domain binary mechanism: a running histogram over a stream. The proof is in histogram.md."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.continual.binary.tree import (
    largest_popcount,
    most_squares,
    shared_nodes,
    spread_by_popcount,
    steps_with_popcount,
)
from unlisted.mechanisms.continual.continual_histogram import ContinualHistogram, Display, StepNoise
from unlisted.mechanisms.continual.tag_table import Column
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey, Tags
from unlisted.noise.on_counts import noise_mu_squared, noise_price
from unlisted.privacy.calibrate import Calibrated, Family, calibrate
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.numbers import whole
from unlisted.privacy.rounding import any_of_up
from unlisted.privacy.sensitivity import Sensitivity

Sums = Column[np.signedinteger]


@dataclass(frozen=True)
class RunningHistogram(ContinualHistogram):
    """A histogram over a stream with the noise of a binary tree.

    `thresholds[p-1]` is for releases whose number has p ones in binary: such a prefix is made of p noisy nodes.
    The steps are the leaves of the tree. All else is as for every `ContinualHistogram`.

    Args:
        law: the noise on a node.
        thresholds: by the number of nodes that a prefix is made of.
        rounds: how many there will be.
        sensitivity: what one unit can change in a round.
        display: "live" shows what is above its threshold now, "sticky" what ever was.
        every: rounds from one release to the next.
        rounds_per_unit: the most rounds in which one unit takes part.
        windows_per_unit: the most windows in which one unit takes part.

    Examples:
        >>> budget = ul.Budget(epsilon=1, delta=1e-8)
        >>> stream = ul.RunningHistogram.for_budget(budget, rounds=30, sensitivity=ul.Sensitivity(3)).mechanism
        >>> stream.guarantee().epsilon(at_delta=1e-8) <= 1
        True

    Theorem: the binary mechanism over an unknown domain (`mechanisms/continual/binary/histogram.md`).
    """

    law: DiscreteGaussian
    thresholds: tuple[int, ...]
    rounds: int
    sensitivity: Sensitivity
    display: Display = "live"
    every: int = 1
    rounds_per_unit: int = 1
    windows_per_unit: int = 1

    def __post_init__(self) -> None:
        self._require_course()
        if len(self.thresholds) != largest_popcount(self.steps):
            raise InvalidArgumentError(
                "thresholds", self.thresholds, f"{largest_popcount(self.steps)} numbers, one for each popcount"
            )
        for threshold in self.thresholds:
            if whole("thresholds", threshold) < self.lowest_threshold:
                raise InvalidArgumentError("thresholds", threshold, f"{self.lowest_threshold} or above")

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        rounds: int,
        sensitivity: Sensitivity,
        *,
        display: Display = "live",
        every: int = 1,
        rounds_per_unit: int = 1,
        windows_per_unit: int = 1,
    ) -> Calibrated[RunningHistogram]:
        """Return the one with the lowest thresholds inside a budget: all the same number of deviations up."""
        steps = whole("rounds", rounds) // whole("every", every) or 1
        lowest = whole("rounds_per_unit", rounds_per_unit) * sensitivity.count

        def build(variance: Fraction, highest: int) -> RunningHistogram:
            thresholds = spread_by_popcount(highest, lowest, steps)
            law = DiscreteGaussian(variance)
            return cls(law, thresholds, rounds, sensitivity, display, every, rounds_per_unit, windows_per_unit)

        gaussian = Family("discrete Gaussian", build, lambda variance: DiscreteGaussian(variance).stddev)
        return calibrate(budget, [gaussian])

    def price(self) -> Guarantee:
        """Return what the nodes that contain a unit's rounds cost."""
        items = self.windows_per_unit * self.sensitivity.require_items("A running histogram")
        squares = most_squares(self.rounds_per_unit, self.steps, self.every)
        # A count that moves by r·Δ∞ costs as much as r² counts that move by Δ∞: ρ goes by squares.
        return noise_price(self.law, items * squares, self.sensitivity.count)

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002
        """Return the μ² of those nodes: it goes by squares too, and no more counts move than their squares."""
        items = self.sensitivity.require_items("A running histogram")
        moved = items * most_squares(self.rounds_per_unit, self.steps, self.every)
        return noise_mu_squared(self.law, moved, self.sensitivity.count)

    def failure(self) -> Fraction:
        """Bound from above the chance that a label only one unit holds is shown in any release.

        However a unit shares its rounds among labels, nothing is worse than one of the two ends: all rounds in the
        same few labels, or every round in others.
        """
        places = self.rounds_per_unit * self.sensitivity.require_items("A running histogram")
        ends, windows = {1, self.rounds_per_unit}, self.windows_per_unit
        return max(any_of_up(self._shown_alone(rounds), windows * places // rounds) for rounds in ends)

    def _shown_alone(self, rounds: int) -> Fraction:
        """Bound from above the chance that a label is ever shown that one unit alone brings, in so many rounds."""
        count = rounds * self.sensitivity.count
        chance = sum(
            (
                steps_with_popcount(ones, self.steps) * self.law.sum_tail(ones, threshold - count + 1)
                for ones, threshold in enumerate(self.thresholds, start=1)
            ),
            start=Fraction(0),
        )
        return min(chance, Fraction(1))

    def no_noise(self) -> TreeNoise:
        """Return the noise before the first step: no node is closed."""
        return TreeNoise(self.law)

    def ones_after(self, rounds: int) -> int:
        """Return how many noisy nodes the release after so many rounds is made of."""
        return (rounds // self.every).bit_count()

    def threshold_after(self, rounds: int) -> int:
        """Return the threshold of the release after so many rounds."""
        return self.thresholds[self.ones_after(rounds) - 1]

    def noise_after(self, rounds: int) -> StepNoise:
        """Return the noise of the release after so many rounds.

        p draws added up are a discrete Gaussian of p times the variance, but for less than anyone could see.
        """
        draws = self.ones_after(rounds)
        law = _shared(draws * self.law.variance)
        return StepNoise(law, f"{law}, of {draws} draws added up" if draws > 1 else f"{law}, of one draw")

    def covariance(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how the noise of releases varies together: by the nodes that they share."""
        return shared_nodes(rounds // self.every).astype(np.float64) * float(self.law.variance)

    def noise_between(self, before: int, now: int) -> DiscreteGaussian:
        """Return about the noise on what the rounds between two releases brought: of nodes that only one has."""
        earlier, later = (set(_places(rounds // self.every)) for rounds in (before, now))
        return _shared(len(earlier ^ later) * self.law.variance)


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
class TreeNoise:
    """The noise of the nodes that make up the present prefix.

    A node is named by its place *and the digest of its contents*, so other contents never meet old noise. Noise is
    kept added up, node by node from the largest to the smallest: `sums[i]` is that of the nodes 0 … i of every
    label. So a step that closes one node draws the noise of that one and adds it to what lies below.
    """

    law: DiscreteGaussian
    nodes: tuple[Node, ...] = ()
    sums: tuple[Sums, ...] = field(default=(), repr=False)

    def tags(self, key: NoiseKey, labels: pa.Array, found: Tags) -> Tags:  # noqa: ARG002 - they have their own
        """Return what the noise of these labels is called by."""
        return key.tags(label_rules.encode_all(labels))

    def found_by(self, tags: Tags) -> Tags | None:  # noqa: ARG002 - the tags of the first version are others
        """Return nothing: labels are found by other tags."""
        return None

    def closed(self, key: NoiseKey, tags: Tags, contents: bytes) -> TreeNoise:
        """Return the noise at the end of a step, whose contents are a leaf of the tree now."""
        nodes = _carried(self.nodes, contents)
        return replace(self, nodes=nodes, sums=self.sums[: len(nodes) - 1]).drawn(key, tags)

    def drawn(self, key: NoiseKey, tags: Tags) -> TreeNoise:
        """Return the same with the noise of all nodes at hand, drawing only what is missing."""
        sums: list[Sums] = []
        for i, node in enumerate(self.nodes):
            before = self.sums[i] if i < len(self.sums) else Column(np.zeros(0, self._width))
            # The law is part of the name: under one key, two scales must not share their bits.
            name = b"%s:%s" % (repr(self.law).encode(), node.encoded())
            drawn = self.law.sample_each(key.draws(name, tags[len(before) :])).astype(before.values.dtype)
            sums.append(before.appended(drawn if i == 0 else drawn + sums[-1].values[len(before) :]))
        return replace(self, sums=tuple(sums))

    def on_counts(self) -> NDArray[np.int64]:
        """Return the noise on every label's running count: the sum over the prefix's nodes."""
        return self.sums[-1].values.astype(np.int64)

    def said(self) -> Mapping[str, Any]:
        """Return the nodes, as plain values."""
        return {"nodes": [[node.level, node.index, node.digest.hex()] for node in self.nodes]}

    def to_keep(self) -> None:
        """Return nothing: a prefix has few nodes, which are soon drawn again."""

    def with_kept(self, step: int, numbers: NDArray[np.int64]) -> TreeNoise:  # noqa: ARG002
        """Return the same noise: nothing of it is kept."""
        return self

    def grown(self, before: TreeNoise) -> Mapping[str, Any]:  # noqa: ARG002 - nodes do not only grow
        """Return nothing: the nodes are said anew after every round."""
        return {}

    def read(self, said: Mapping[str, Any], grown: Sequence[Mapping[str, Any]]) -> TreeNoise:  # noqa: ARG002
        """Return the noise with the nodes that were said."""
        nodes = tuple(Node(level, index, bytes.fromhex(digest)) for level, index, digest in said["nodes"])
        return replace(self, nodes=nodes)

    @property
    def _width(self) -> type[np.signedinteger]:
        """The numbers that sums of this noise fit into: what a table draws is far below 2^31."""
        return np.int32 if self.law.fits_a_table else np.int64


def _places(step: int) -> list[tuple[int, int]]:
    """Return level and index of the nodes that a prefix is made of."""
    return [(level, step >> level) for level in range(step.bit_length()) if step >> level & 1]


def _carried(nodes: tuple[Node, ...], digest: bytes) -> tuple[Node, ...]:
    """Return the nodes of the next prefix, largest first: as in binary addition, two equal blocks become one."""
    t = sum(1 << node.level for node in nodes) + 1
    node, kept = Node(0, t, digest), list(nodes)
    while kept and kept[-1].level == node.level:
        left = kept.pop()
        both = hashlib.sha256(b"two blocks:" + left.digest + node.digest).digest()
        node = Node(node.level + 1, t >> (node.level + 1), both)
    return (*kept, node)


@lru_cache(maxsize=64)
def _shared(variance: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian(variance)
