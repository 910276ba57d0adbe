"""What a mechanism is, written once: everything above knows mechanisms by this interface and by nothing else.

A mechanism is a frozen dataclass that answers six questions about itself:

    needs()       what it is released from: all counts, the largest ones, or weights
    protects()    whom it protects: one user, and how much that user may change
    guarantee()   what a release costs at most
    release(...)  the answer itself, from what it needs and random bits
    accuracy()    how good the answer will be, before any data is touched
    describe()    its name, threshold and noise, for plans, receipts and people

Its calibration lies beside it (`for_budget`), its proof lies beside it (same stem, .md), and `registry.py` has a
line for it, over which the conformance suite runs. A mechanism of your own goes through the same door:
`ul.table(...).release_with(item, mechanism=...)` gives it plans, accounts, charts and receipts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.count_profile import CountProfile
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.noise.bits import Bits
from unlisted.privacy.encoding import encoded
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Counts = TypeVar("Counts")
Read_co = TypeVar("Read_co", covariant=True)

Interval = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The lower and the upper ends of the 95 % intervals of an answer's counts."""


PERCENTS = (50, 95, 99)
"""The probabilities of appearing that a plan speaks of."""

Chance = Callable[[int], float]
"""How many users share an item -> the probability that it appears."""


class CountSource(Protocol):
    """Where a mechanism gets what it needs, inside one snapshot of the data."""

    def all_counts(self, cut: int) -> AbstractContextManager[BoundedCounts | CountProfile]:
        """Return all counts; those up to `cut` may be left unnamed, as a count-of-counts profile."""
        ...

    def largest_counts(self, fetched: int) -> AbstractContextManager[BoundedCounts]:
        """Return the `fetched` + 1 largest counts."""
        ...

    def weights(self) -> AbstractContextManager[WeightOracle]:
        """Return what weighs labels, round after round."""
        ...

    def user_count(self) -> AbstractContextManager[BoundedTotal]:
        """Return how many users there are."""
        ...

    def distinct_values(self) -> AbstractContextManager[BoundedTotal]:
        """Return how many different labels have a bounded count."""
        ...


class Needs(Protocol[Read_co]):
    """What a mechanism is released from."""

    def read(self, source: CountSource) -> AbstractContextManager[Read_co]:
        """Get it."""
        ...


@dataclass(frozen=True)
class AllCounts:
    """All counts. Of those up to `cut`, which hardly ever pass, it is enough to know how many labels have each.

    Args:
        cut: counts up to here need no name.

    Examples:
        >>> noise, three_items = ul.DiscreteLaplace(2), ul.Sensitivity(3)
        >>> ul.ThresholdHistogram(noise, threshold=60, sensitivity=three_items).needs()
        AllCounts(cut=...)
    """

    cut: int = 0

    def read(self, source: CountSource) -> AbstractContextManager[BoundedCounts | CountProfile]:
        """Get all counts."""
        return source.all_counts(self.cut)


@dataclass(frozen=True)
class LargestCounts:
    """The k̄ = `fetched` largest counts, and the one after them.

    Args:
        fetched: k̄, a public number.

    Examples:
        >>> ul.LargestCounts(fetched=1000)
        LargestCounts(fetched=1000)
    """

    fetched: int

    def read(self, source: CountSource) -> AbstractContextManager[BoundedCounts]:
        """Get the largest counts."""
        return source.largest_counts(self.fetched)


@dataclass(frozen=True)
class Weights:
    """The weights of labels, which each user's items share.

    Examples:
        >>> plan = ul.table(searches(), user="user").histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8))
        >>> plan.mechanism.needs()
        Weights()
    """

    def read(self, source: CountSource) -> AbstractContextManager[WeightOracle]:
        """Get what weighs labels."""
        return source.weights()


@dataclass(frozen=True)
class UserCount:
    """How many users there are."""

    def read(self, source: CountSource) -> AbstractContextManager[BoundedTotal]:
        """Get the number of users."""
        return source.user_count()


@dataclass(frozen=True)
class DistinctValues:
    """How many different labels there are, once the items of every user are bounded."""

    def read(self, source: CountSource) -> AbstractContextManager[BoundedTotal]:
        """Get the number of labels."""
        return source.distinct_values()


@dataclass(frozen=True, eq=False)
class Answer:
    """The rows that a mechanism released, in an order that is a function of what is released.

    That is by noisy count and then label, by rank, or by label. Scan order and true counts cannot be read from it.

    `counts` is None for a bare ranking and for bare labels. `stopped` is true if a ranking ended before it had k
    labels; `noisy_threshold` is there where a mechanism gives it away. Only a filter that reserved the ceiling
    first may hand back what was not `spent`. `draws` is None for what is no ranking. `extras` are plain values.

    Attributes:
        labels: what may be shown, in plain Arrow arrays of its own.
        counts: their noisy counts, in the same order.
        spent: what was used of the ceiling.
        stopped: whether a ranking ended before it had k labels.
        noisy_threshold: the threshold, where it is released too.
        extras: what else was released, by name.
        draws: how many draws a ranking made.
        columns: further numbers of each row, by name.

    Examples:
        >>> one_item = ul.Sensitivity(1)
        >>> counts = ul.BoundedCounts.from_dict({"soup": 900, "my pin": 1}, one_item)
        >>> histogram = ul.ThresholdHistogram(ul.DiscreteLaplace(1), threshold=40, sensitivity=one_item)
        >>> histogram.release(counts).labels.to_pylist()
        ['soup']
    """

    labels: pa.Array
    counts: NDArray[np.int64] | None
    spent: Guarantee
    stopped: bool = False
    noisy_threshold: int | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    draws: int | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # What no engine should have named, and nobody can read. It was drawn like any other.
        if self.labels.null_count:
            there = np.flatnonzero(np.asarray(self.labels.is_valid()))
            object.__setattr__(self, "labels", label_rules.take(self.labels, there))
            if self.counts is not None:
                object.__setattr__(self, "counts", self.counts[there])
            object.__setattr__(self, "columns", {name: one[there] for name, one in self.columns.items()})

    @classmethod
    def by_count(
        cls,
        labels: pa.Array,
        counts: NDArray[np.int64],
        spent: Guarantee,
        noisy_threshold: int | None = None,
        extras: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Put released rows in the order of their noisy count, largest first, then of their label."""
        rows = label_rules.order(labels, counts)
        taken = label_rules.take(labels, rows)
        return cls(taken, counts[rows], spent, noisy_threshold=noisy_threshold, extras=extras or {})

    @classmethod
    def of_labels(cls, labels: pa.Array, spent: Guarantee) -> Answer:
        """Put released labels in their own order, with nothing beside them."""
        rows = label_rules.order(labels, np.zeros(len(labels), dtype=np.int64))
        return cls(label_rules.take(labels, rows), None, spent)

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Accuracy:
    """What to expect of an answer: floating point, for display. No price and no threshold depends on it.

    `needed[p]` is the count an item needs to appear with a probability of p percent; for answers read from the
    largest counts only, the count it needs *above the first one that was left out* (`above_cut`). `half_width` is
    half the width of a plain 95 % interval of a count, None where no count is released. Where users of fewer items
    lift them more, `needed` is for users with as many items as the bound allows. Where the width of intervals is
    only known with the answer, `half_widths` has it.

    Attributes:
        needed: the count that an item needs, by the probability to appear in percent.
        half_width: half the width of a plain 95 % interval of a count; None where none is released.
        above_cut: whether `needed` is meant above the first count that was left out.
        chance: the probability to appear, of counts.
        at_best: `needed` for users with one item, where that is less.
        between: `needed` for users of more items than one and fewer than the bound.
        half_widths: `half_width` by the number of items for which a user counts in full.

    Examples:
        >>> plan = ul.table(searches(), user="user").labels("query", budget=ul.Budget(epsilon=1, delta=1e-8))
        >>> sorted(plan.accuracy.needed)
        [50, 95, 99]
    """

    needed: dict[int, int]
    half_width: int | None
    above_cut: bool
    chance: Chance
    at_best: dict[int, int] | None = None
    between: Mapping[int, dict[int, int]] = field(default_factory=dict)
    half_widths: Mapping[int, int] = field(default_factory=dict)

    def curve(self, points: int = 120) -> list[tuple[int, float]]:
        """Return (count, probability of appearing) over the range where it goes from about 0 to about 1."""
        last = max(2, round(self.needed[50] + 2 * (self.needed[99] - self.needed[50])))
        steps = np.unique(np.linspace(0, last, min(points, last + 1)).round().astype(int))
        return [(int(count), self.chance(int(count))) for count in steps]


def all_needed(chance: Chance) -> dict[int, int]:
    """Return the counts that an item needs to appear with each of the probabilities that a plan speaks of."""
    return {percent: _needed(chance, percent / 100) for percent in PERCENTS}


def _needed(chance: Chance, wanted: float) -> int:
    low, high = 0, 1
    while chance(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if chance(middle) < wanted else (low, middle)
    return high


@dataclass(frozen=True)
class Description:
    """A mechanism as plans and receipts name it.

    `name` never changes its meaning. `threshold` is a count, or a weight where the lone item of a user weighs 1;
    None where whatever comes out comes out always. A ledger knows questions by `parameters`, not by `shares`.

    Attributes:
        name: what receipts and JSON call the mechanism.
        title: what people call it.
        threshold: what a noisy count, or weight, must exceed.
        noise: the noise, in words.
        parameters: what a receipt says of the question besides.
        shares: the part of ρ that each step gets, where there are several.

    Examples:
        >>> plan = ul.table(searches(), user="user").histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8))
        >>> plan.mechanism.describe().name
        'find_then_count'
    """

    name: str
    title: str
    threshold: int | Fraction | None
    noise: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultPrice:
    """What one result of a ranking costs, and the ε of the draw that it came from."""

    guarantee: Guarantee
    epsilon: Fraction


class Mechanism(ABC, Generic[Counts]):
    """A way to answer a question privately. `Counts` is what it is released from.

    Subclass it to bring your own: say what it `needs`, whom it `protects`, its `guarantee`, how it `release`s, its
    `accuracy` and how to `describe` it, as a frozen dataclass. docs/own-mechanism.md has one of thirty lines. What
    it guarantees must be proved; ours rest on the two lemmas of `privacy/lemma.md`.

    Examples:
        >>> table = ul.table(searches(), user="user")
        >>> plan = table.top("query", k=3, budget=ul.Budget(epsilon=1, delta=1e-8))
        >>> isinstance(plan.mechanism, ul.Mechanism)
        True
    """

    ranks: ClassVar[bool] = False
    """Whether what it releases is a ranking."""

    pays_by_draw: ClassVar[bool] = False
    """Whether it draws its results one by one, and an account pays only for those that were drawn."""

    complete: ClassVar[bool | None] = True
    """Whether an answer is all there is to say; None for a ranking, of which only the answer tells."""

    names_items: ClassVar[bool] = True
    """Whether its rows are items; those of a total are not."""

    counts_are_bounded: ClassVar[bool] = True
    """Whether released counts are of bounded contributions, or of all users as they are."""

    @abstractmethod
    def needs(self) -> Needs[Counts]:
        """Return what it is released from."""

    @abstractmethod
    def protects(self) -> Sensitivity:
        """Return who is protected: one user, and how much that user may change."""

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs."""

    @abstractmethod
    def release(self, counts: Counts, bits: Bits | None = None) -> Answer:
        """Answer, with randomness from `bits` and from nowhere else."""

    @abstractmethod
    def accuracy(self) -> Accuracy:
        """Return how good the answer will be."""

    @abstractmethod
    def describe(self) -> Description:
        """Return its name, threshold and noise."""

    def mu_squared(self, draws: int | None = None) -> Fraction | None:  # noqa: ARG002 - a ranking counts them
        """Return the μ² of Gaussian DP that a release costs at most, at the δ of `guarantee()`.

        Of a ranking, of so many draws if they are said. None says that none is proved: then an account of Gaussian
        DP derives one from the (ε, δ) statement of `guarantee()`, or refuses.
        """
        return None

    def full_guarantee(self) -> Guarantee:
        """Return `guarantee()` with its μ² beside it."""
        return replace(self.guarantee(), mu_squared=self.mu_squared())

    def intervals(self, answer: Answer) -> Interval | None:  # noqa: ARG002 - without counts there are none
        """Return 95 % intervals of the counts of an answer; None where it has none."""
        return None

    def result_price(self) -> ResultPrice | None:
        """Return what one result costs where the whole ceiling is so many results; None elsewhere."""
        return None

    def run(self, source: CountSource, bits: Bits | None = None) -> Answer:
        """Get what is needed, and answer."""
        with self.needs().read(source) as counts:
            return self.release(counts, bits)

    def encoding(self) -> str:
        """Return the text by which a ledger knows the mechanism, which is the same in every version."""
        return encoded(self)
