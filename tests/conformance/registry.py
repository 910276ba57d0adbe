"""All mechanisms, said in one way, so that one suite can ask the same of each.

A new mechanism is one more entry here and passes the whole suite, or is not one of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import pytest
from tests.mechanisms.scripted_noise import TwoSidedGeometric

from unlisted.mechanisms.answer import Answer
from unlisted.mechanisms.continual.correlated_bounds import class_ends
from unlisted.mechanisms.continual.correlated_histogram import CorrelatedHistogram
from unlisted.mechanisms.continual.recursion import Recursion
from unlisted.mechanisms.continual.wide_gaussian import WideGaussian
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.running_histogram import RunningHistogram
from unlisted.mechanisms.running_tree import largest_popcount
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.noise.bits import Bits
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.noise.discrete_laplace import DiscreteLaplace
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

    def counts(
        self, labels: object, counts: object, sensitivity: Sensitivity = ONE, **declared: Any
    ) -> BoundedCounts:
        """Counts as this mechanism takes them."""
        return BoundedCounts(labels, counts, sensitivity, fetched=self.fetched, **declared)


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

SUBJECTS = [
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


def those(condition: Callable[[Subject], bool]) -> pytest.MarkDecorator:
    """Ask something of those mechanisms only to which it applies."""
    found = [subject for subject in SUBJECTS if condition(subject)]
    return pytest.mark.parametrize("subject", found, ids=lambda subject: subject.name)
