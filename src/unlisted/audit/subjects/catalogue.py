"""Our own mechanisms as subjects: small enough for exact laws, and leaky enough for a black box to have a chance.

Everyday parameters have a δ of 1e-8, which no number of runs would ever meet. Here δ is about a thousandth;
nothing in the code that is audited knows the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from unlisted.audit.subject import Pair, Subject
from unlisted.audit.subjects.find_then_count import audited_find_then_count, audited_then_sum, audited_with_totals
from unlisted.audit.subjects.histograms import (
    audited_histogram,
    audited_stream,
    audited_top_histogram,
    audited_top_k,
    audited_truncated,
)
from unlisted.audit.subjects.interactions import audited_pay_what_you_get
from unlisted.audit.subjects.labels import (
    audited_hinted,
    audited_labels,
    audited_labels_top,
    audited_optimal,
)
from unlisted.audit.subjects.totals import audited_distinct, audited_users
from unlisted.counts.weights import UNIT, Rerouting, Weighing
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.totals.total import DistinctTotal, UserTotal
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram
from unlisted.noise.discrete_laplace import DiscreteLaplace
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity

_ONE, _TWO = Sensitivity(1), Sensitivity(2)
_LAPLACE, _GAUSSIAN = DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1))

OURS: dict[str, Callable[[], Subject]] = {
    "histogram-laplace": lambda: audited_histogram("histogram-laplace", ThresholdHistogram(_LAPLACE, 7, _TWO)),
    "histogram-gaussian": lambda: audited_histogram(
        "histogram-gaussian", ThresholdHistogram(DiscreteGaussian(Fraction(4)), 8, Sensitivity(2, count=2))
    ),
    "histogram-exact": lambda: audited_histogram(
        "histogram-exact",
        ThresholdHistogram(DiscreteGaussian(Fraction(4)), 7, _TWO, at_epsilon=Fraction(1, 2)),
    ),
    "histogram-exact-replace": lambda: audited_histogram(
        "histogram-exact-replace",
        ThresholdHistogram(_GAUSSIAN, 4, Sensitivity(1, adjacency="replace"), at_epsilon=Fraction(1)),
    ),
    "histogram-replace": lambda: audited_histogram(
        "histogram-replace", ThresholdHistogram(_GAUSSIAN, 4, Sensitivity(1, adjacency="replace"))
    ),
    "histogram-minimum": lambda: audited_histogram(
        "histogram-minimum", ThresholdHistogram(_LAPLACE, 8, _ONE, minimum_count=2)
    ),
    "histogram-randomized": lambda: audited_histogram(
        "histogram-randomized", ThresholdHistogram(_LAPLACE, 7, _TWO, lowered=2**63)
    ),
    "histogram-truncated": lambda: audited_truncated(
        "histogram-truncated", TruncatedHistogram(Fraction(1), Fraction("0.01"), _TWO)
    ),
    "histogram-truncated-replace": lambda: audited_truncated(
        "histogram-truncated-replace",
        TruncatedHistogram(Fraction(2), Fraction("0.01"), Sensitivity(1, adjacency="replace")),
    ),
    "top-histogram-laplace": lambda: audited_top_histogram(
        "top-histogram-laplace", TopHistogram(_LAPLACE, 8, 1, _ONE)
    ),
    "top-histogram-gaussian": lambda: audited_top_histogram(
        "top-histogram-gaussian", TopHistogram(_GAUSSIAN, 6, 2, _TWO)
    ),
    "top-histogram-randomized": lambda: audited_top_histogram(
        "top-histogram-randomized", TopHistogram(_LAPLACE, 8, 1, _ONE, lowered=2**63)
    ),
    "top-k": lambda: audited_top_k("top-k", TopK.at(Ranking(3, 2, _ONE), epsilon=1, delta="0.002"), fetched=2),
    "top-k-all": lambda: audited_top_k(
        "top-k-all", TopK.at(Ranking(2, None, _TWO), epsilon=1, delta="0.002"), fetched=2
    ),
    "top-k-counts": lambda: audited_top_k(
        "top-k-counts",
        TopK.at(Ranking(2, 2, _ONE), epsilon=1, delta="0.002", counts_law=DiscreteGaussian(Fraction(1))),
        fetched=2,
    ),
    "labels-weighted": lambda: audited_labels("labels-weighted", (Weighing(3), 9, 11)),
    "labels-replace": lambda: audited_labels("labels-replace", (Weighing(2, adjacency="replace"), 9, 11)),
    "labels-adaptive": lambda: audited_labels("labels-adaptive", (Weighing(3, Rerouting(8 * UNIT, 3)), 9, 11)),
    "labels-rounds": lambda: audited_labels("labels-rounds", (Weighing(2), 16, 15), (Weighing(2), 9, 11)),
    "labels-hints": lambda: audited_hinted("labels-hints", Weighing(2)),
    "labels-hints-replace": lambda: audited_hinted("labels-hints-replace", Weighing(2, adjacency="replace")),
    "labels-optimal": lambda: audited_optimal("labels-optimal", _TWO),
    "labels-optimal-replace": lambda: audited_optimal(
        "labels-optimal-replace", Sensitivity(1, adjacency="replace")
    ),
    "labels-top": audited_labels_top,
    "find-then-count": audited_find_then_count,
    "found-of-all": lambda: audited_with_totals("found-of-all", users=True, other=False),
    "found-other": lambda: audited_with_totals("found-other", users=False, other=True),
    "found-sums": lambda: audited_then_sum("found-sums"),
    "users": lambda: audited_users("users", UserTotal(_LAPLACE, Sensitivity(None))),
    "users-replace": lambda: audited_users(
        "users-replace", UserTotal(_GAUSSIAN, Sensitivity(None, adjacency="replace"))
    ),
    "distinct": lambda: audited_distinct("distinct", DistinctTotal(DiscreteLaplace(Fraction(2)), _TWO)),
    "distinct-replace": lambda: audited_distinct(
        "distinct-replace", DistinctTotal(DiscreteGaussian(Fraction(9)), Sensitivity(2, adjacency="replace"))
    ),
    "pay-what-you-get": audited_pay_what_you_get,
    "stream-live": lambda: audited_stream("stream-live", RunningHistogram(_GAUSSIAN, (4, 5), 3, _ONE)),
    "stream-sticky": lambda: audited_stream(
        "stream-sticky", RunningHistogram(_GAUSSIAN, (4, 5), 3, _ONE, "sticky")
    ),
    "stream-units": lambda: audited_stream(
        "stream-units", RunningHistogram(_GAUSSIAN, (5, 6), 3, _ONE, rounds_per_unit=2)
    ),
    "stream-steps": lambda: audited_stream(
        "stream-steps",
        RunningHistogram(DiscreteGaussian(Fraction(2)), (6,), 4, _ONE, every=2, rounds_per_unit=2),
        Pair("a unit with two labels of its own", ({}, {}, {}, {}), ({"a": 1}, {"b": 1}, {}, {})),
    ),
}
"""Every mechanism of the package, by the name it has on the command line."""
