"""A mechanism in words and numbers for a person: its name, its threshold, its noise, whom it protects."""

from __future__ import annotations

import math
from fractions import Fraction

from unlisted.accuracy import Mechanism
from unlisted.mechanisms.label_counts import CountedLabels
from unlisted.mechanisms.label_optimal import OptimalLabels
from unlisted.mechanisms.label_ranking import LabelRanking
from unlisted.mechanisms.label_selection import LabelSelection
from unlisted.mechanisms.label_weights import UNIT
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import TopK
from unlisted.privacy.sensitivity import Sensitivity

RANKINGS = (TopK, LabelRanking)
"""Mechanisms that draw one result after the other, and are paid for what they drew."""

_NAMES: dict[type[Mechanism], tuple[str, str]] = {
    ThresholdHistogram: ("threshold_histogram", "threshold histogram (Algorithm 1)"),
    TopHistogram: ("top_histogram", "top histogram (Algorithm 2)"),
    TopK: ("top_k", "ranked top k (Algorithm 3)"),
    CountedLabels: ("counted_labels", "labels of a threshold histogram (Algorithm 1)"),
    OptimalLabels: ("optimal_labels", "labels by a coin each (optimal partition selection)"),
    LabelRanking: ("label_ranking", "labels first, then a ranking of them"),
}


def name_of(mechanism: Mechanism) -> str:
    """Return the name that receipts and JSON have for a mechanism."""
    if isinstance(mechanism, LabelSelection):
        return {"weighted": "weighted_labels", "adaptive": "adaptive_labels", "rounds": "label_rounds"}[
            _kind(mechanism)
        ]
    return _NAMES[type(mechanism)][0]


def title_of(mechanism: Mechanism) -> str:
    """Return what a mechanism is called in a plan."""
    if isinstance(mechanism, LabelSelection):
        return _titled(mechanism)
    if isinstance(mechanism, LabelRanking):
        return f"{_NAMES[LabelRanking][1]}; {_titled(mechanism.selection)}"
    return _NAMES[type(mechanism)][1]


def threshold_of(mechanism: Mechanism) -> int | Fraction:
    """Return the threshold: of counts, or of weights where the lone item of a user weighs 1.

    Where each label has its coin, it is the count at which the coin is about even.
    """
    if isinstance(mechanism, CountedLabels):
        return mechanism.histogram.threshold
    if isinstance(mechanism, OptimalLabels):
        return mechanism.even
    if isinstance(mechanism, LabelSelection | LabelRanking):
        return Fraction(_selection(mechanism).last.threshold, UNIT)
    return mechanism.threshold


def noise_of(mechanism: Mechanism) -> str:
    """Return the noise in words."""
    if isinstance(mechanism, CountedLabels):
        return str(mechanism.histogram.law)
    if isinstance(mechanism, OptimalLabels):
        return "none: a coin for each label"
    if isinstance(mechanism, LabelSelection | LabelRanking):
        drawn = f"normal on weights, scale {math.sqrt(_selection(mechanism).last.variance):.6g}"
        if isinstance(mechanism, LabelSelection):
            return drawn
        drawn = f"{drawn}; Gumbel, scale {float(1 / mechanism.epsilon):.6g}"
        return drawn if mechanism.counts_law is None else f"{drawn}; counts: {mechanism.counts_law}"
    if not isinstance(mechanism, TopK):
        return str(mechanism.law)
    gumbel = f"Gumbel, scale {float(mechanism.ranking.sensitivity.count / mechanism.epsilon):.6g}"
    return gumbel if mechanism.counts_law is None else f"{gumbel}; counts: {mechanism.counts_law}"


def protected_by(mechanism: Mechanism) -> Sensitivity:
    """Return who is protected: one user, and what that user may change."""
    if isinstance(mechanism, CountedLabels):
        return mechanism.histogram.sensitivity
    if isinstance(mechanism, LabelRanking):
        return Sensitivity(None, 1, mechanism.selection.last.weighing.adjacency)
    if isinstance(mechanism, LabelSelection):
        return Sensitivity(mechanism.last.weighing.items, 1, mechanism.last.weighing.adjacency)
    return mechanism.ranking.sensitivity if isinstance(mechanism, TopK) else mechanism.sensitivity


def _selection(mechanism: LabelSelection | LabelRanking) -> LabelSelection:
    return mechanism.selection if isinstance(mechanism, LabelRanking) else mechanism


def _kind(selection: LabelSelection) -> str:
    if len(selection.rounds) > 1:
        return "rounds"
    return "weighted" if selection.last.weighing.giving_back is None else "adaptive"


def _titled(selection: LabelSelection) -> str:
    return {
        "weighted": "weighted labels",
        "adaptive": "weighted labels, weight given back (MaxAdaptiveDegree)",
        "rounds": f"weighted labels in {len(selection.rounds)} rounds (DP-SIPS)",
    }[_kind(selection)]
