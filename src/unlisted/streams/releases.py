"""From what the mechanism shows to a release: item columns, counts, error bars, and the plan they came from.

The noise of a round is a sum of many draws, which is a discrete Gaussian but for less than anyone could see. So a
release reads like one of Algorithm 1 with that noise and the round's threshold.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.whole_numbers import to_arrow
from unlisted.mechanisms.continual.stream_state import StreamState
from unlisted.mechanisms.mechanism import Accuracy, Answer
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise import intervals
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.law import Law
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.release.release import Release, item_columns
from unlisted.streams.settings import Settings

Whole = NDArray[np.int64]


def released(settings: Settings, state: StreamState, number: int, answer: Answer) -> Release:
    """Return the release after a round, and after which the stream is in this state."""
    assert answer.counts is not None  # a running histogram shows counts
    mechanism = settings.mechanism
    prefix = _about(settings, number)
    low, high = _ends(prefix.law, prefix.threshold, answer.counts)
    if state.known:
        known = state.labels.rows_of(answer.labels) < state.known
        bar = mechanism.known_threshold_after(state.round)
        low[known], high[known] = _ends(prefix.law, bar, answer.counts[known])
    # What is shown was seen, so its count is 1 or more; noise may take a sticky one below that.
    numbers = {"count": np.maximum(answer.counts, 1), "low": low, "high": high}
    # An empty release looks the same whatever the labels are that it does not show.
    labels = answer.labels if len(answer) else pa.nulls(0, pa.string())
    columns = {
        **item_columns(labels, settings.item),
        **{name: to_arrow(values) for name, values in numbers.items()},
    }
    return Release(
        pa.table(columns),
        complete=True,
        guarantee=mechanism.guarantee(),
        at_delta=settings.at_delta,
        plan=plan_of(settings, number),
    )


def plan_of(settings: Settings, number: int) -> dict[str, Any]:
    """Return what was asked and how, as plain values, with threshold and noise of the release after a round."""
    prefix = _about(settings, number)
    expected = _expected(prefix)
    known = {}
    if settings.known is not None:
        known = {"known_threshold": settings.mechanism.known_threshold_after(settings.in_window(number))}
    return known | {
        "mechanism": "running_histogram",
        "threshold": prefix.threshold,
        "noise": settings.mechanism.noise_after(settings.in_window(number)).text,
        "question": "stream",
        "round": number,
        "rounds": settings.rounds,
        "release_every": settings.release_every,
        "display": settings.display,
        "unit": settings.unit,
        "counted": settings.count,
        "rounds_per_user": settings.rounds_per_user,
        "round_length": settings.round_length,
        "window_rounds": settings.window,
        "windows_per_user": settings.windows_per_user,
        "period": settings.period,
        "per_period": settings.per_period,
        "user": settings.user,
        "items": list(settings.item),
        "count": settings.counts,
        "items_per_user": settings.sensitivity.items,
        "rows_per_item": settings.count_query.rows_per_item,
        "where": settings.where,
        "max_label_bytes": settings.max_label_bytes,
        "adjacency": "add_remove",
        "half_width_95": expected.half_width,
        "users_needed": {str(percent): count for percent, count in expected.needed.items()},
        "users_needed_above_cut": False,
        "reason": settings.reason,
    }


def _about(settings: Settings, number: int) -> ThresholdHistogram:
    """Return Algorithm 1 with about the noise and with the threshold of the release after a round."""
    mechanism = settings.mechanism
    items, alone = mechanism.sensitivity.items, mechanism.lowest_threshold
    place = settings.in_window(number)
    law, threshold = mechanism.noise_after(place).law, mechanism.threshold_after(place)
    return _histogram(law, threshold, Sensitivity(items, min(alone, threshold)))


@lru_cache(maxsize=256)
def _histogram(law: DiscreteGaussian, threshold: int, sensitivity: Sensitivity) -> ThresholdHistogram:
    # Its law has tables, which rounds share.
    return ThresholdHistogram(law, threshold, sensitivity)


@lru_cache(maxsize=256)
def _expected(prefix: ThresholdHistogram) -> Accuracy:
    return prefix.accuracy()


def _ends(law: Law, threshold: int, shown: Whole) -> tuple[Whole, Whole]:
    """Return error bars: given that it was shown for what is over the threshold, plain for what only stayed."""
    low, high = np.empty_like(shown), np.empty_like(shown)
    over = shown > threshold
    low[over], high[over] = intervals.given_shown(law, threshold, shown[over])
    if not over.all():
        low[~over], high[~over] = intervals.plain(law, shown[~over])
    return low, high
