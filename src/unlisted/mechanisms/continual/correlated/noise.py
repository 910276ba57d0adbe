"""Correlated noise as a function of what it belongs to: key, label, step, and all that was brought up to it.

A step's noise enters all later ones, so after other contents every draw must be another one: had two copies of a
stream one draw in common after they parted, the difference of their answers would tell the difference of their
counts. So the draws of a step are named by the *chain* of everything brought up to it, and the chains of the past
are kept, one for each step: a label that is new replays all steps with them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.mechanisms.continual.correlated.recursion import Numbers, Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.mechanisms.continual.tag_table import Column
from unlisted.noise.keyed import NoiseKey, Tags

CHAIN_BYTES = 32
_AT_ONCE = 1 << 15
"""So many draws at a time: what a step touches then stays close to the processor."""

_STEPS_AGAIN = 8
"""So many steps may have to be drawn again after a restart."""


@dataclass(frozen=True)
class KeyedRecursion:
    """A recursion with the law of its draws and the key of their bits."""

    key: NoiseKey
    law: WideGaussian
    recursion: Recursion

    def name(self, step: int, chain: bytes) -> bytes:
        """Return what the draws of a step are called: another law, recursion, step or past is another name."""
        return b"%s:%s:%d:%s" % (self.law.encoded(), self.recursion.encoded(), step, chain)

    def after(self, names: Sequence[bytes], tags: Tags, numbers: Numbers) -> Numbers:
        """Return W and S of these labels after the steps of these names; what is given stays as it is.

        For labels that were there, one name; for labels that are new, all names from the first step on.
        """
        later = np.empty_like(numbers)
        for start in range(0, len(tags), _AT_ONCE):
            part = slice(start, min(start + _AT_ONCE, len(tags)))
            some = np.array(numbers[:, part], order="C", copy=True)
            rows = max(1, _AT_ONCE // (part.stop - part.start))
            for first in range(0, len(names), rows):
                for z in self.law.sample(self.key, names[first : first + rows], tags[part]):
                    self.recursion.advance(some, z)
            later[:, part] = some
        return later


@dataclass(frozen=True, eq=False)
class CorrelatedNoise:
    """Five numbers of noise for each label, after some of the steps.

    `chains` has one row for each step. `numbers` has W and S of the first labels after the first `drawn` steps;
    what lies behind is caught up with when it is needed. `kept` says which steps and labels lie on a disk.
    """

    law: WideGaussian
    recursion: Recursion
    chains: Column[np.uint8]
    numbers: Numbers = field(repr=False)
    drawn: int = 0
    kept: tuple[int, int] = (0, 0)

    @classmethod
    def none(cls, law: WideGaussian, recursion: Recursion) -> CorrelatedNoise:
        """Return the noise before the first step."""
        return cls(law, recursion, Column(np.zeros((0, CHAIN_BYTES), dtype=np.uint8)), recursion.start(0))

    def tags(self, key: NoiseKey, labels: pa.Array, found: Tags) -> Tags:  # noqa: ARG002 - they are the same
        """Return what the noise of these labels is called by: the tags that they are found by."""
        return found

    def found_by(self, tags: Tags) -> Tags | None:
        """Return the tags that labels are found by."""
        return tags

    def closed(self, key: NoiseKey, tags: Tags, contents: bytes) -> CorrelatedNoise:
        """Return the noise at the end of a step: one more draw for every label, all of them for new ones."""
        before = self.chains.values[-1].tobytes() if len(self.chains) else b""
        chain = hashlib.sha256(b"one more step:" + before + contents).digest()
        return self.with_chains([chain]).caught_up(key, tags)

    def with_chains(self, more: Iterable[bytes]) -> CorrelatedNoise:
        """Return the same noise with more steps that lie before what is drawn next."""
        added = np.frombuffer(b"".join(more), dtype=np.uint8).reshape(-1, CHAIN_BYTES)
        return replace(self, chains=self.chains.appended(added))

    def caught_up(self, key: NoiseKey, tags: Tags) -> CorrelatedNoise:
        """Return the noise of all labels after all steps."""
        steps, known = len(self.chains), self.numbers.shape[1]
        keyed = KeyedRecursion(key, self.law, self.recursion)

        def names(first: int) -> list[bytes]:
            chains = self.chains.values
            return [keyed.name(step, chains[step - 1].tobytes()) for step in range(first, steps + 1)]

        numbers = keyed.after(names(self.drawn + 1), tags[:known], self.numbers)
        if len(tags) > known:
            # As if they had been there from the first step on, with counts of 0.
            fresh = keyed.after(names(1), tags[known:], self.recursion.start(len(tags) - known))
            numbers = np.concatenate([numbers, fresh], axis=1) if known else fresh
        return replace(self, numbers=numbers, drawn=steps)

    def on_counts(self) -> NDArray[np.int64]:
        """Return the noise on every label's running count."""
        return self.recursion.on_counts(self.numbers)

    def said(self) -> Mapping[str, Any]:
        """Return nothing: all is named by the chains."""
        return {}

    def to_keep(self) -> tuple[int, Numbers] | None:
        """Return the numbers once drawing them again from what was kept would take several steps of all labels."""
        step, labels = self.kept
        steps, known = self.drawn, self.numbers.shape[1]
        again = (steps - step) * labels + steps * (known - labels)
        return (steps, self.numbers) if again > _STEPS_AGAIN * known else None

    def with_kept(self, step: int, numbers: Numbers) -> CorrelatedNoise:
        """Return the noise with what was kept after a step at hand."""
        kept = replace(self, kept=(step, numbers.shape[1]))
        return kept if self.drawn >= step else replace(kept, numbers=numbers, drawn=step)

    def grown(self, before: CorrelatedNoise) -> Mapping[str, Any]:
        """Return the chain of the step that a round has ended, if it has ended one."""
        added = self.chains.values[len(before.chains) :]
        return {"chain": added.tobytes().hex()} if len(added) else {}

    def read(self, said: Mapping[str, Any], grown: Sequence[Mapping[str, Any]]) -> CorrelatedNoise:  # noqa: ARG002
        """Return noise with the chains of these rounds, of which nothing is drawn yet."""
        return self.with_chains(bytes.fromhex(one["chain"]) for one in grown if "chain" in one)
