"""Correlated noise as a function of what it belongs to: key, label, step, and all that was brought up to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unlisted.mechanisms.continual.recursion import Numbers, Recursion
from unlisted.mechanisms.continual.wide_gaussian import WideGaussian
from unlisted.noise.keyed import NoiseKey, Tags

_AT_ONCE = 1 << 15
"""So many draws at a time: what a step touches then stays close to the processor."""


@dataclass(frozen=True)
class CorrelatedNoise:
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
