"""All mechanisms, said in one way, so that one suite can ask the same of each.

A new mechanism is one more entry here and passes the whole suite, or is not one of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from tests.mechanisms.scripted_noise import TwoSidedGeometric

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import LARGEST_COUNT, BoundedCounts
from unlisted.counts.bounded_sums import BoundedSums
from unlisted.counts.bounded_total import BoundedTotal
from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.binary.tree import largest_popcount
from unlisted.mechanisms.continual.correlated.histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.correlated.price import class_ends
from unlisted.mechanisms.continual.correlated.recursion import Recursion
from unlisted.mechanisms.continual.correlated.wide_gaussian import WideGaussian
from unlisted.mechanisms.mechanism import Answer
from unlisted.mechanisms.partition_selection.from_counts import CountedLabels as SelectionFromCounts
from unlisted.mechanisms.partition_selection.one_round import LabelRound as WeightedRound
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels as OptimalSelection
from unlisted.mechanisms.partition_selection.rounds import LabelSelection as WeightedSelection
from unlisted.mechanisms.partition_selection.then_count import FindThenCount, FoundTop
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking as SelectThenRank
from unlisted.mechanisms.partition_selection.then_sum import FindThenSum
from unlisted.mechanisms.partition_selection.with_totals import FoundWithTotals
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.totals.total import DistinctTotal, Total, UserTotal
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.bits import Bits
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.keyed import NoiseKey
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

ONE = Sensitivity(1)
FETCHED = 30
Move = Literal["rises", "never falls", "same", "never rises", "falls"]


@dataclass(frozen=True)
class Knob:
    """A parameter, some of its values in rising order, and how ρ and δ move along them."""

    values: tuple[Any, ...]
    rho: Move
    delta: Move


@dataclass(frozen=True)
class Subject:
    """A mechanism under test.

    `make(**parameters)` builds it. `noisy` and `quiet` are two of them for users of one item each: one with noise,
    one with so little that labels of count 1000 or more are shown as they are, and labels of count 1 are not.
    `in_label_order` says that rows come by label and not by count; `weighs` that it is released from weights,
    which the engine bounds, so that there is nothing that counts could declare wrongly. `saturates_at` is the
    largest count that is counted as it is: fewer where parts of a user are counted.
    """

    name: str
    make: Callable[..., Any]
    noisy: Any
    quiet: Any
    knobs: Mapping[str, Knob]
    ask: Callable[[Any, BoundedCounts, Bits], Answer] = field(
        default=lambda m, counts, bits: m.release(counts, bits)
    )
    fetched: int | None = None
    has_counts: bool = True
    has_threshold: bool = False
    cut_off_is_priced: bool = False
    any_items: bool = False
    in_label_order: bool = False
    weighs: bool = False
    saturates_at: int = LARGEST_COUNT

    def counts(
        self, labels: object, counts: object, sensitivity: Sensitivity = ONE, **declared: Any
    ) -> BoundedCounts:
        """Counts as this mechanism takes them."""
        return BoundedCounts(labels, counts, sensitivity, fetched=self.fetched, **declared)

    def shown(self, labels: Any) -> list[Any]:
        """Labels that came in the order of their counts, as this mechanism shows them."""
        if not self.in_label_order:
            return list(labels) if isinstance(labels, list) else labels.to_pylist()
        array = label_rules.plain(labels)
        return label_rules.take(array, label_rules.order(array, np.zeros(len(array), dtype=np.int64))).to_pylist()


class Weighed:
    """Counts as weights: each label has so many users, who have no other."""

    def __init__(self, counts: BoundedCounts) -> None:
        self._counts, self._taken = counts, np.zeros(0, dtype=np.int64)
        self._order = label_rules.order(counts.labels, np.zeros(len(counts), dtype=np.int64))
        self._buckets: dict[int, list[int]] = {}
        self._in_play = set(self._order.tolist())

    def weigh(self, weighing: Weighing) -> None:
        """Do nothing: users of one item each weigh the same whatever the bound."""

    def buckets(self, width: int, last: int) -> dict[int, int]:
        self._buckets = {}
        in_play = self._in_play - set(self._taken.tolist())
        for place in (one for one in self._order.tolist() if one in in_play):
            self._buckets.setdefault(min((self._weight(place) - 1) // width, last), []).append(place)
        return {bucket: len(places) for bucket, places in self._buckets.items()}

    def named(self, buckets: Any, ranks: Any) -> Any:
        return label_rules.take(self._counts.labels, self._at(buckets, ranks)), self.weights_at(buckets, ranks)

    def weights_at(self, buckets: Any, ranks: Any) -> Any:
        return np.array([self._weight(place) for place in self._at(buckets, ranks)], dtype=np.int64)

    def keep_in_play(self, buckets: Any, ranks: Any) -> None:
        self._in_play = set(self._at(buckets, ranks).tolist())

    def take_out(self, buckets: Any, ranks: Any) -> None:
        self._taken = np.concatenate([self._taken, self._at(buckets, ranks)])

    def counts_of_taken(self) -> BoundedCounts:
        labels = label_rules.take(self._counts.labels, self._taken)
        return BoundedCounts(labels, self._counts.counts[self._taken], Sensitivity(items=None))

    def scaled_sums_of_taken(self, weights: np.ndarray) -> BoundedSums:
        counts = self.scaled_counts_of_taken(weights)
        return BoundedSums(counts.labels, counts.counts, 0, 1)

    def users(self) -> BoundedTotal:
        return BoundedTotal(min(sum(self._counts.counts.tolist()), LARGEST_COUNT), 1)

    def users_of_others(self) -> BoundedTotal:
        others = np.delete(self._counts.counts, self._taken)
        return BoundedTotal(min(sum(others.tolist()), LARGEST_COUNT), 1)

    def values_of_users(self, most: int) -> BoundedTotal:
        return BoundedTotal(self.users().value, most)

    def other_values(self, most: int) -> BoundedTotal:
        return BoundedTotal(len(self._counts.counts) - len(self._taken), most)

    def sizes_of_users(self) -> dict[int, int]:
        users = sum(self._counts.counts[self._taken].tolist())
        return {1: min(users, LARGEST_COUNT)} if users else {}

    def scaled_counts_of_taken(self, weights: Any) -> BoundedCounts:
        labels = label_rules.take(self._counts.labels, self._taken)
        counts = [min(int(n) * int(weights[0]), LARGEST_COUNT) for n in self._counts.counts[self._taken]]
        return BoundedCounts(labels, counts, Sensitivity(items=None, count=int(weights.max(initial=1))))

    def _weight(self, place: int) -> int:
        return min(int(self._counts.counts[place]) * UNIT, LARGEST_COUNT)

    def _at(self, buckets: Any, ranks: Any) -> Any:
        pairs = zip(buckets.tolist(), ranks.tolist(), strict=True)
        return np.array([self._buckets[bucket][rank] for bucket, rank in pairs], dtype=np.int64)


def _weighed(mechanism: Any, counts: BoundedCounts, bits: Bits) -> Answer:
    return mechanism.release(Weighed(counts), bits)


SENSITIVITY = {
    "items": Knob((1, 2, 5, 100), "rises", "rises"),
    "count": Knob((1, 2, 5), "rises", "rises"),
}
LAPLACE = {"scale": Knob(("0.5", 1, 3), "falls", "rises")}
GAUSSIAN = {"variance": Knob(("0.5", 1, 9), "falls", "rises")}
THRESHOLD = {"threshold": Knob((10, 20, 21, 30), "same", "falls")}
HISTOGRAM = SENSITIVITY | {
    "threshold": Knob((10, 20, 21, 30), "same", "falls"),
    "minimum_count": Knob((1, 2, 7), "same", "rises"),
    "adjacency": Knob(("add_remove", "replace"), "rises", "same"),
}
TOP = THRESHOLD | {
    "items": Knob((1, 2, 5, 20), "rises", "rises"),
    "count": Knob((1, 2, 5), "rises", "rises"),
    "fetched": Knob((1, 2, 9, 50), "never falls", "never falls"),
    "adjacency": Knob(("add_remove", "replace"), "rises", "rises"),
    "ties": Knob(("label", "unknown"), "same", "rises"),
}


def histogram(
    threshold: int = 20,
    items: int = 1,
    count: int = 1,
    minimum_count: int = 1,
    adjacency: str = "add_remove",
    **scale: object,
) -> ThresholdHistogram:
    return ThresholdHistogram(_law(**scale), threshold, Sensitivity(items, count, adjacency), minimum_count)


def randomized_histogram(lowered: int = 2**62, **knobs: object) -> ThresholdHistogram:
    return replace(histogram(**knobs), lowered=lowered)


def truncated(
    epsilon: object = 1,
    delta: object = "1e-6",
    items: int = 1,
    count: int = 1,
    minimum_count: int = 1,
    adjacency: str = "add_remove",
) -> TruncatedHistogram:
    return TruncatedHistogram(epsilon, delta, Sensitivity(items, count, adjacency), minimum_count)


def top_histogram(
    threshold: int = 20,
    fetched: int = FETCHED,
    items: int | None = 2,
    count: int = 1,
    adjacency: str = "add_remove",
    ties: str = "label",
    **scale: object,
) -> TopHistogram:
    return TopHistogram(_law(**scale), threshold, fetched, Sensitivity(items, count, adjacency), ties)


def randomized_top_histogram(lowered: int = 2**62, **knobs: object) -> TopHistogram:
    return replace(top_histogram(**knobs), lowered=lowered)


def top_k(
    *,
    k: int = 5,
    fetched: int | None = FETCHED,
    epsilon: object = "0.5",
    threshold: object = 25,
    items: int | None = 2,
    count: int = 1,
    adjacency: str = "add_remove",
    ties: str = "label",
    counts_law: object = None,
) -> TopK:
    ranking = Ranking(k, fetched, Sensitivity(items, count, adjacency), ties)
    return TopK(epsilon, threshold, ranking, counts_law)


def top_k_at(k: int = 5, epsilon: object = "0.5", delta: object = "1e-6", items: int | None = None) -> TopK:
    return TopK.at(Ranking(k, FETCHED, Sensitivity(items)), epsilon=epsilon, delta=delta)


def running(
    rounds: int = 8, threshold: int = 60, items: int = 1, count: int = 1, variance: object = 4
) -> RunningHistogram:
    # What is not a number of rounds is the mechanism's to refuse.
    popcounts = largest_popcount(rounds) if isinstance(rounds, int) and rounds > 0 else 1
    thresholds = (threshold,) * popcounts
    return RunningHistogram(DiscreteGaussian(variance), thresholds, rounds, Sensitivity(items, count))


def selection(threshold: object = 20, variance: object = 4, items: object = 1) -> WeightedSelection:
    # What is not a number of weights is the mechanism's to refuse.
    units = threshold * UNIT if isinstance(threshold, int) else threshold
    return WeightedSelection((WeightedRound(Weighing(items), variance, units),))


def hinted_selection(**knobs: object) -> WeightedSelection:
    (last,) = selection(**knobs).rounds
    return WeightedSelection((replace(last, hint=2 * UNIT), last))


def ranking_of_labels(k: object = 20, epsilon: object = "0.5", counts_law: object = None) -> SelectThenRank:
    return SelectThenRank(selection(threshold=30), k, epsilon, counts_law)


def find_then_count(
    counts_variance: object = 4, sizes_variance: object = 4, grain: int = 64, **knobs: object
) -> FindThenCount:
    return FindThenCount(hinted_selection(**knobs), sizes_variance, counts_variance, grain)


def with_totals(totals_variance: object = 4, **knobs: object) -> FoundWithTotals:
    return FoundWithTotals(find_then_count(**knobs), totals_variance)


def find_then_sum(sums_variance: object = 4, **knobs: object) -> FindThenSum:
    return FindThenSum(find_then_count(**knobs), sums_variance, 0, 1)


def found_top(k: object = 30, counts: bool = True, **knobs: object) -> FoundTop:
    return FoundTop(find_then_count(**knobs), k, counts)


def optimal(epsilon: object = 1, delta: object = "1e-6", items: object = 1) -> OptimalSelection:
    return OptimalSelection(epsilon, delta, Sensitivity(items))


def correlated(
    rounds: int = 8, threshold: int = 60, items: int = 1, count: int = 1, variance: object = 4 << 12
) -> CorrelatedHistogram:
    classes = len(class_ends(rounds)) if isinstance(rounds, int) and rounds > 0 else 1
    law, recursion = WideGaussian(variance), Recursion.for_steps(365).coarser(6)
    return CorrelatedHistogram(law, recursion, (threshold,) * classes, rounds, Sensitivity(items, count))


def budget(results: int = 40, questions: int = 4, epsilon: object = 1, delta: object = "1e-9") -> PayWhatYouGet:
    return PayWhatYouGet.of(results=results, questions=questions, epsilon=epsilon, delta=delta)


def _law(**scale: object) -> object:
    if "variance" in scale:
        return DiscreteGaussian(scale["variance"])
    return DiscreteLaplace(scale.get("scale", 1))


def _one_round(mechanism: RunningHistogram | CorrelatedHistogram, counts: BoundedCounts, bits: Bits) -> Answer:
    return mechanism.release([counts], NoiseKey(bits.take(32)))[0]


def _one_question(mechanism: PayWhatYouGet, counts: BoundedCounts, bits: Bits) -> Answer:
    # As loud as the budget: with ρ = 5 the ranking is noisy, with ρ = 10^9 it is not.
    loud = mechanism.total.rho > 1000
    asked = TopK.at(Ranking(10, FETCHED, ONE), epsilon=2000 if loud else 1, delta="1e-9")
    # A new budget each time: what one test spends is not missing in the next.
    return PayWhatYouGet(mechanism.total).release(asked, counts, bits)


RANKING = {
    "k": Knob((1, 2, 20, 31), "rises", "same"),
    "threshold": Knob((10, 20, 25, 30), "same", "falls"),
    "epsilon": Knob(("0.1", "0.5", 2), "rises", "falls"),
    "items": Knob((1, 2, 5, 20), "same", "rises"),
    "count": Knob((1, 2, 5), "same", "rises"),
    "adjacency": Knob(("add_remove", "replace"), "rises", "rises"),
}

SELECTION = {
    "threshold": Knob((10, 20, 21, 30), "same", "falls"),
    "variance": Knob(("0.5", 1, 9), "falls", "rises"),
    "items": Knob((1, 2, 5), "same", "never falls"),
}

SUBJECTS = [
    Subject(
        "labels from counts",
        lambda **knobs: SelectionFromCounts(histogram(**knobs)),
        noisy=SelectionFromCounts(histogram(scale=30, threshold=60)),
        quiet=SelectionFromCounts(histogram(scale="0.01")),
        knobs=HISTOGRAM | LAPLACE,
        has_counts=False,
        in_label_order=True,
        cut_off_is_priced=True,
    ),
    Subject(
        "optimal selection",
        optimal,
        noisy=optimal(epsilon="0.1", delta="0.001"),
        quiet=optimal(epsilon=40, delta="1e-9"),
        knobs={
            "epsilon": Knob(("0.1", 1, 3), "rises", "same"),
            "delta": Knob(("1e-9", "1e-6", "1e-3"), "same", "rises"),
            "items": Knob((1, 2, 5), "falls", "same"),
        },
        has_counts=False,
        in_label_order=True,
        cut_off_is_priced=True,
    ),
    Subject(
        "weighted selection",
        selection,
        noisy=selection(threshold=60, variance=900),
        quiet=selection(variance="0.01"),
        knobs=SELECTION,
        ask=_weighed,
        has_counts=False,
        in_label_order=True,
        weighs=True,
    ),
    Subject(
        "weighted selection in rounds",
        lambda **knobs: WeightedSelection(selection(**knobs).rounds * 2),
        noisy=WeightedSelection(selection(threshold=60, variance=900).rounds * 2),
        quiet=WeightedSelection(selection(variance="0.01").rounds * 2),
        knobs=SELECTION,
        ask=_weighed,
        has_counts=False,
        in_label_order=True,
        weighs=True,
    ),
    Subject(
        "weighted selection with hints",
        hinted_selection,
        noisy=hinted_selection(threshold=60, variance=900),
        quiet=hinted_selection(variance="0.01"),
        knobs=SELECTION,
        ask=_weighed,
        has_counts=False,
        in_label_order=True,
        weighs=True,
    ),
    Subject(
        "labels, then a ranking of them",
        ranking_of_labels,
        noisy=SelectThenRank(selection(threshold=30, variance=25), 20, "0.1"),
        quiet=SelectThenRank(selection(variance="0.01"), 30, 2000),
        knobs={
            "k": Knob((1, 2, 20), "rises", "same"),
            "epsilon": Knob(("0.1", "0.5", 2), "rises", "same"),
        },
        ask=_weighed,
        has_counts=False,
        weighs=True,
    ),
    Subject(
        "labels, then a ranking of them with counts",
        lambda **knobs: ranking_of_labels(**{"counts_law": DiscreteGaussian(4)} | knobs),
        noisy=SelectThenRank(selection(threshold=30, variance=25), 20, "0.1", DiscreteGaussian(4)),
        quiet=SelectThenRank(selection(variance="0.01"), 30, 2000, DiscreteGaussian("0.005")),
        knobs={"k": Knob((1, 2, 20), "rises", "same"), "epsilon": Knob(("0.1", "0.5", 2), "rises", "same")},
        ask=_weighed,
        weighs=True,
    ),
    Subject(
        "labels, then their counts",
        find_then_count,
        noisy=find_then_count(threshold=30, variance=25),
        quiet=find_then_count(variance="0.01", counts_variance="0.005", sizes_variance="0.5"),
        knobs=SELECTION
        | {
            "counts_variance": Knob(("0.5", 1, 9), "falls", "same"),
            "sizes_variance": Knob(("0.5", 1, 9), "falls", "same"),
            "grain": Knob((1, 2, 1024), "same", "same"),
        },
        ask=_weighed,
        weighs=True,
        saturates_at=LARGEST_COUNT // 64,
    ),
    Subject(
        "labels, then their counts, and totals",
        with_totals,
        noisy=with_totals(threshold=30, variance=25),
        quiet=with_totals(variance="0.01", counts_variance="0.005", sizes_variance="0.5"),
        knobs=SELECTION | {"totals_variance": Knob(("0.5", 1, 9), "falls", "same")},
        ask=_weighed,
        weighs=True,
        saturates_at=LARGEST_COUNT // 64,
    ),
    Subject(
        "labels, then their counts and sums",
        find_then_sum,
        noisy=find_then_sum(threshold=30, variance=25),
        quiet=find_then_sum(variance="0.01", counts_variance="0.005", sizes_variance="0.5"),
        knobs=SELECTION | {"sums_variance": Knob(("0.5", 1, 9), "falls", "same")},
        ask=_weighed,
        weighs=True,
        saturates_at=LARGEST_COUNT // 64,
    ),
    Subject(
        "the first k of labels, then their counts",
        found_top,
        noisy=found_top(k=20, threshold=30, variance=25),
        quiet=found_top(variance="0.01", counts_variance="0.005", sizes_variance="0.5"),
        knobs=SELECTION | {"k": Knob((1, 2, 20), "same", "same")},
        ask=_weighed,
        weighs=True,
        saturates_at=LARGEST_COUNT // 64,
    ),
    Subject(
        "the first k of labels, without their counts",
        lambda **knobs: found_top(counts=False, **knobs),
        noisy=found_top(k=20, counts=False, threshold=30, variance=25),
        quiet=found_top(counts=False, variance="0.01", counts_variance="0.005", sizes_variance="0.5"),
        knobs={"k": Knob((1, 2, 20), "same", "same")},
        ask=_weighed,
        has_counts=False,
        weighs=True,
    ),
    Subject(
        "ThresholdHistogram with Laplace noise",
        histogram,
        noisy=histogram(scale=3),
        quiet=histogram(scale="0.01"),
        knobs=HISTOGRAM | LAPLACE,
        cut_off_is_priced=True,
    ),
    Subject(
        "ThresholdHistogram with Gaussian noise",
        lambda **knobs: histogram(**{"variance": 1} | knobs),
        noisy=histogram(variance=9),
        quiet=histogram(variance="0.005"),
        knobs=HISTOGRAM | GAUSSIAN,
        cut_off_is_priced=True,
    ),
    Subject(
        "ThresholdHistogram with a law of a user's own",
        lambda threshold=20, items=1, count=1, minimum_count=1: ThresholdHistogram(
            TwoSidedGeometric(), threshold, Sensitivity(items, count), minimum_count
        ),
        noisy=ThresholdHistogram(TwoSidedGeometric(), 20, ONE),
        quiet=histogram(scale="0.01"),
        knobs=SENSITIVITY | THRESHOLD | {"minimum_count": Knob((1, 2, 7), "same", "rises")},
        cut_off_is_priced=True,
    ),
    Subject(
        "ThresholdHistogram with a randomized threshold",
        randomized_histogram,
        noisy=randomized_histogram(scale=3),
        quiet=randomized_histogram(scale="0.01"),
        knobs=HISTOGRAM | LAPLACE | {"lowered": Knob((0, 1, 2**63, 2**64 - 1), "same", "rises")},
        cut_off_is_priced=True,
    ),
    Subject(
        "TruncatedHistogram",
        truncated,
        noisy=truncated(),
        quiet=truncated(epsilon=50, delta="1e-9"),
        # ε and δ are those of the whole: with more items a label has less of both, which costs less ρ.
        knobs={
            "epsilon": Knob(("0.1", 1, 10), "rises", "same"),
            "delta": Knob(("1e-12", "1e-6", "0.4"), "same", "rises"),
            "items": Knob((1, 2, 5, 100), "falls", "same"),
            "count": Knob((1, 2, 5), "falls", "same"),
            "minimum_count": Knob((1, 2, 7), "same", "same"),
            "adjacency": Knob(("add_remove", "replace"), "falls", "same"),
        },
        cut_off_is_priced=True,
    ),
    Subject(
        "TopHistogram with a randomized threshold",
        randomized_top_histogram,
        noisy=randomized_top_histogram(scale=3, items=1),
        quiet=randomized_top_histogram(scale="0.01", items=1),
        knobs=TOP | LAPLACE | {"lowered": Knob((1, 2**63, 2**64 - 1), "same", "rises")},
        fetched=FETCHED,
        has_threshold=True,
    ),
    Subject(
        "TopHistogram with Laplace noise",
        top_histogram,
        noisy=top_histogram(scale=3, items=1),
        quiet=top_histogram(scale="0.01", items=1),
        knobs=TOP | LAPLACE,
        fetched=FETCHED,
        has_threshold=True,
    ),
    Subject(
        "TopHistogram with Gaussian noise",
        lambda **knobs: top_histogram(**{"variance": 1} | knobs),
        noisy=top_histogram(variance=9, items=1),
        quiet=top_histogram(variance="0.005", items=1),
        knobs=TOP | GAUSSIAN,
        fetched=FETCHED,
        has_threshold=True,
    ),
    Subject(
        "TopHistogram without a bound on items",
        lambda **knobs: top_histogram(**{"items": None, "variance": 1} | knobs),
        noisy=top_histogram(items=None, variance=9),
        quiet=top_histogram(items=None, variance="0.005"),
        knobs=GAUSSIAN | THRESHOLD | {"fetched": Knob((1, 2, 9, 50), "rises", "rises")},
        fetched=FETCHED,
        has_threshold=True,
        any_items=True,
    ),
    Subject(
        "TopK of the largest counts",
        top_k,
        noisy=top_k(epsilon="0.1", threshold=2, items=1),
        quiet=top_k(k=20, epsilon=2000, threshold=2, items=1),
        knobs=RANKING | {"ties": Knob(("label", "unknown"), "same", "rises")},
        fetched=FETCHED,
        has_counts=False,
    ),
    Subject(
        "TopK of the whole histogram",
        lambda **knobs: top_k(**{"fetched": None} | knobs),
        noisy=top_k(fetched=None, epsilon="0.1", threshold=2, items=1),
        quiet=top_k(k=20, fetched=None, epsilon=2000, threshold=2, items=1),
        knobs=RANKING,
        has_counts=False,
    ),
    Subject(
        "TopK with the winners' counts",
        lambda **knobs: top_k(**{"counts_law": DiscreteGaussian(4)} | knobs),
        noisy=top_k(epsilon="0.1", threshold=2, items=1, counts_law=DiscreteGaussian(4)),
        quiet=top_k(k=20, epsilon=2000, threshold=2, items=1, counts_law=DiscreteGaussian("0.005")),
        # More items and a larger count move the winners' counts too, not only the escape.
        knobs=RANKING | {"items": Knob((1, 2, 5), "rises", "rises"), "count": Knob((1, 2, 5), "rises", "rises")},
        fetched=FETCHED,
    ),
    Subject(
        "TopK at an epsilon and a delta",
        top_k_at,
        noisy=top_k_at(),
        quiet=TopK.at(Ranking(20, FETCHED, ONE), epsilon=2000, delta="1e-9"),
        knobs={
            "k": Knob((1, 2, 20, 31), "rises", "same"),
            "epsilon": Knob(("0.1", 1, 10), "rises", "never rises"),
            "delta": Knob(("1e-12", "1e-6", "0.4"), "same", "rises"),
        },
        fetched=FETCHED,
        has_counts=False,
        any_items=True,
    ),
    Subject(
        "PayWhatYouGet",
        budget,
        noisy=budget(),
        quiet=PayWhatYouGet(Guarantee(Fraction(10**9), Fraction(1, 2))),
        knobs={
            "results": Knob((1, 2, 50), "rises", "same"),
            "questions": Knob((1, 2, 50), "same", "rises"),
            "epsilon": Knob(("0.1", 1, 3), "rises", "same"),
            "delta": Knob(("1e-12", "1e-9", "1e-3"), "same", "rises"),
        },
        ask=_one_question,
        fetched=FETCHED,
        has_counts=False,
    ),
    Subject(
        "RunningHistogram",
        running,
        noisy=running(threshold=20),
        quiet=RunningHistogram(DiscreteGaussian("0.005"), (20, 20), 4, ONE),
        knobs={
            "rounds": Knob((1, 2, 3, 4, 100, 365), "never falls", "rises"),
            "threshold": Knob((40, 60, 61), "same", "falls"),
            "items": Knob((1, 2, 5), "rises", "rises"),
            "count": Knob((1, 2, 5), "rises", "rises"),
            "variance": Knob((1, 4, 9), "falls", "rises"),
        },
        ask=_one_round,
        cut_off_is_priced=True,
    ),
    Subject(
        "CorrelatedHistogram",
        correlated,
        noisy=correlated(threshold=20),
        quiet=correlated(rounds=4, threshold=20, variance=20),
        knobs={
            "rounds": Knob((1, 2, 3, 4, 100, 365), "rises", "rises"),
            "threshold": Knob((40, 60, 61), "same", "falls"),
            "items": Knob((1, 2, 5), "rises", "rises"),
            "count": Knob((1, 2, 5), "rises", "rises"),
            "variance": Knob((1 << 12, 4 << 12, 9 << 12), "falls", "rises"),
        },
        ask=_one_round,
        cut_off_is_priced=True,
    ),
]


@dataclass(frozen=True)
class TotalSubject:
    """A total under test: `make(**parameters)`, one with noise, one with hardly any, and how prices move."""

    name: str
    make: Callable[..., Total]
    noisy: Total
    quiet: Total
    knobs: Mapping[str, Knob]


def users_total(scale: object = 1, adjacency: str = "add_remove") -> UserTotal:
    return UserTotal(DiscreteLaplace(scale), Sensitivity(None, adjacency=adjacency))


def distinct_total(variance: object = 4, items: object = 1, adjacency: str = "add_remove") -> DistinctTotal:
    return DistinctTotal(DiscreteGaussian(variance), Sensitivity(items, adjacency=adjacency))


TOTALS = [
    TotalSubject(
        "users",
        users_total,
        noisy=users_total(),
        quiet=users_total(scale="0.01"),
        knobs={
            "scale": Knob(("0.5", 1, 3), "falls", "same"),
            "adjacency": Knob(("add_remove", "replace"), "same", "same"),
        },
    ),
    TotalSubject(
        "different values",
        distinct_total,
        noisy=distinct_total(variance=100, items=3),
        quiet=distinct_total(variance="0.005"),
        knobs={
            "variance": Knob(("0.5", 1, 9), "falls", "same"),
            "items": Knob((1, 2, 5, 100), "rises", "same"),
            "adjacency": Knob(("add_remove", "replace"), "same", "same"),
        },
    ),
]
"""Mechanisms that release one number and no labels: `test_totals.py` asks what makes sense of a number."""


def those(condition: Callable[[Subject], bool]) -> pytest.MarkDecorator:
    """Ask something of those mechanisms only to which it applies."""
    found = [subject for subject in SUBJECTS if condition(subject)]
    return pytest.mark.parametrize("subject", found, ids=lambda subject: subject.name)
