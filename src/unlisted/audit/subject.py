"""What is audited: a claim, neighbours to try, a plain way to run the mechanism, and what else is known of it.

Everything here is plain Python, so that a mechanism from anywhere can be audited: data is whatever the mechanism
takes, and an output is a hashable value. Ours answer in one shape, in the order in which rows come out:

    a histogram       (("soup", 12), ("bread", 7))
    a top histogram   (9, (("soup", 12),))                  the noisy threshold first
    a ranking         ("soup", "bread", BOTTOM)             BOTTOM last if ⊥ was drawn
    labels alone      ("bread", "soup")
    several answers   a tuple of the above: questions one after the other, or the rounds of a stream
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from unlisted.audit.laws.output_law import Outcome, OutputLaw
from unlisted.noise.bits import Bits
from unlisted.privacy.guarantee import Guarantee

Data = Any
"""A data set as the mechanism takes it; for ours a mapping of label to count, or a tuple of such, one a round."""

Output = Outcome

BOTTOM = None
"""⊥ in a ranking. No label is null, so it cannot be taken for one."""

Run = Callable[[Data], Output]
Batch = Callable[[Data, int], Counter[Output]]
"""(data, n) -> how often each output came up in n independent runs."""


OpenBits = Callable[[], Bits]
"""Where a run gets its randomness; the tests bring bits that can be drawn again."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets. The audit looks at both directions, so the order does not matter."""

    name: str
    left: Data
    right: Data


@dataclass(frozen=True)
class Subject:
    """A mechanism under audit.

    `run` answers once. `law` gives the exact law of the output, where it can be computed; `batch` answers many
    times at once, faster than `run` and with the same law. `pairs` is a function because there may be many.
    """

    name: str
    claim: Guarantee
    pairs: Callable[[], Iterable[Pair]]
    run: Run
    law: Callable[[Data], OutputLaw] | None = None
    batch: Batch | None = None
