"""Every mechanism there is, a line each.

The conformance suite and the tests of proofs run over this list. A mechanism that is not in it does not pass: the
tests compare it with the classes that are there.
"""

from __future__ import annotations

from typing import Any

from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.partition_selection.from_counts import CountedLabels
from unlisted.mechanisms.partition_selection.optimal import OptimalLabels
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_count import FindThenCount, FoundTop
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking
from unlisted.mechanisms.partition_selection.then_sum import FindThenSum
from unlisted.mechanisms.partition_selection.with_totals import FoundWithTotals
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.mechanisms.totals.total import DistinctTotal, UserTotal
from unlisted.mechanisms.truncated_laplace import TruncatedHistogram

MECHANISMS: tuple[type[Mechanism[Any]], ...] = (
    ThresholdHistogram,
    TruncatedHistogram,
    TopHistogram,
    TopK,
    CountedLabels,
    OptimalLabels,
    LabelSelection,
    LabelRanking,
    FindThenCount,
    FoundWithTotals,
    FindThenSum,
    FoundTop,
    UserTotal,
    DistinctTotal,
)
