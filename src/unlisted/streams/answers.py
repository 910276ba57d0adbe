"""From what the mechanism shows to a release: item columns, counts, error bars, and the plan they came from.

A prefix of p nodes has the noise of p draws added up, which is a discrete Gaussian of p times the variance but for
less than anyone could see. So a release reads like one of Algorithm 1 with that noise and the round's threshold.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts.whole_numbers import to_arrow
from unlisted.mechanisms.continual.binary_histogram import RunningHistogram
from unlisted.mechanisms.mechanism import Accuracy, Answer
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.noise import intervals
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.sensitivity import Sensitivity
from unlisted.release.release import Release, item_columns
from unlisted.streams.settings import ROUND, Settings


def released(settings: Settings, number: int, answer: Answer) -> Release:
    """Return the release after a round."""
    assert answer.counts is not None  # a running histogram shows counts
    mechanism = settings.mechanism
    prefix = _prefix(mechanism, mechanism.ones_after(number))
    low, high = _ends(prefix, answer.counts)
    numbers = {"count": answer.counts, "low": low, "high": high}
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
    mechanism = settings.mechanism
    draws = mechanism.ones_after(number)
    prefix, expected = _prefix(mechanism, draws), _expected(mechanism, draws)
    return {
        "mechanism": "running_histogram",
        "threshold": prefix.threshold,
        "noise": f"{prefix.law}, of {draws} draws added up" if draws > 1 else f"{prefix.law}, of one draw",
        "question": "stream",
        "round": number,
        "rounds": settings.rounds,
        "release_every": settings.release_every,
        "display": settings.display,
        "unit": settings.unit,
        "rounds_per_user": settings.rounds_per_user,
        "user": settings.user,
        "items": list(settings.item),
        "count": settings.question.count,
        "items_per_user": settings.items_per_event,
        "rows_per_item": settings.question.rows_per_item,
        "where": settings.where,
        "max_label_bytes": settings.max_label_bytes,
        "adjacency": "add_remove",
        "half_width_95": expected.half_width,
        "users_needed": {str(percent): count for percent, count in expected.needed.items()},
        "users_needed_above_cut": False,
        "reason": settings.reason,
    }


@lru_cache(maxsize=256)
def _prefix(mechanism: RunningHistogram, ones: int) -> ThresholdHistogram:
    """Return Algorithm 1 with the noise and the threshold of a prefix of so many nodes."""
    law = DiscreteGaussian(ones * mechanism.law.variance)
    reach = Sensitivity(mechanism.sensitivity.items, mechanism.lowest_threshold)
    return ThresholdHistogram(law, mechanism.thresholds[ones - 1], reach)


@lru_cache(maxsize=256)
def _expected(mechanism: RunningHistogram, ones: int) -> Accuracy:
    return _prefix(mechanism, ones).accuracy()


def _ends(prefix: ThresholdHistogram, shown: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return error bars: given that it was shown for what is over the threshold, plain for what only stayed."""
    low, high = np.empty_like(shown), np.empty_like(shown)
    over = shown > prefix.threshold
    low[over], high[over] = intervals.given_shown(prefix.law, prefix.threshold, shown[over])
    if not over.all():
        low[~over], high[~over] = intervals.plain(prefix.law, shown[~over])
    return low, high


def joined(settings: Settings, releases: Iterable[tuple[int, Release]]) -> Release:
    """Return several releases as one, with the column `round` in front; the plan is that of the last."""
    number, parts = settings.release_every, []
    for number, one in releases:
        # What is empty may not know the type of its labels yet.
        if len(one):
            parts.append(one.table.add_column(0, ROUND, to_arrow(np.full(len(one), number))))
    names = {ROUND: pa.int64(), **dict.fromkeys(settings.item, pa.string())}
    names |= dict.fromkeys(("count", "low", "high"), pa.int64())
    empty = pa.table({name: pa.nulls(0, kind) for name, kind in names.items()})
    return Release(
        pa.concat_tables(parts).combine_chunks() if parts else empty,
        complete=True,
        guarantee=settings.mechanism.guarantee(),
        at_delta=settings.at_delta,
        plan=plan_of(settings, number),
    )
