"""Neighbours to try: all of them up to a size, and the families on which mechanisms of this kind break."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from unlisted.audit.subject import Pair
from unlisted.privacy.sensitivity import Sensitivity

Histogram = dict[str, int]
FAR = 1000
"""A count that is above every threshold of a small audit, whatever the noise."""


def all_pairs(sensitivity: Sensitivity, labels: Sequence[str], largest: int) -> Iterator[Pair]:
    """Yield every two neighbours whose common part has these labels with counts up to `largest`."""
    users = [
        user for user in _histograms(labels, sensitivity.count) if 0 < len(user) <= _items(sensitivity, labels)
    ]
    for rest in _histograms(labels, largest):
        if sensitivity.adjacency == "add_remove":
            yield from (_pair(rest, _added(rest, user)) for user in users)
        else:
            both = itertools.combinations([{}, *users], 2)
            yield from (_pair(_added(rest, one), _added(rest, other)) for one, other in both)


def fresh_labels(sensitivity: Sensitivity, beside: Mapping[str, int]) -> Iterator[Pair]:
    """Yield neighbours of which one user alone has some labels: as many as allowed, each as often as allowed."""
    for n in range(1, _items(sensitivity, "xyz") + 1):
        brought = dict.fromkeys("xyz"[:n], sensitivity.count)
        yield Pair(f"{n} fresh, beside {dict(beside)}", dict(beside), {**beside, **brought})


def at_the_threshold(sensitivity: Sensitivity, threshold: int) -> Iterator[Pair]:
    """Yield neighbours whose counts stand just below, at, and above the threshold, and far above it.

    All labels that a user may change are changed, as far as allowed; with `replace`, from some labels to others.
    """
    n = _items(sensitivity, "uv")
    for count in (max(1, threshold - 1), threshold, threshold + 1, threshold + FAR):
        rest = dict.fromkeys("uv"[:n] + "xy"[: n * (sensitivity.sides - 1)], count)
        one, other = (dict.fromkeys(labels[:n], sensitivity.count) for labels in ("uv", "xy"))
        yield _pair(_added(rest, other) if sensitivity.sides == 2 else rest, _added(rest, one))


def tied_at_the_cut(sensitivity: Sensitivity, fetched: int, level: int) -> Iterator[Pair]:
    """Yield neighbours with more labels tied than fit, of which one user lifts the last over the rest."""
    labels = "abcdefgh"[: fetched + 2]
    rest = dict.fromkeys(labels, level)
    n = _items(sensitivity, labels[:fetched])
    for amount in range(1, sensitivity.count + 1):
        yield _pair(rest, _added(rest, dict.fromkeys(labels[-n:], amount)))
        # And a cut with nothing after it: the label that enters is the first that was not there.
        yield _pair(
            dict.fromkeys(labels[:fetched], level), {**dict.fromkeys(labels[:fetched], level), "z": amount}
        )


def stream_pairs(
    sensitivity: Sensitivity, rounds_per_unit: int, streams: Iterable[Sequence[int]]
) -> Iterator[Pair]:
    """Yield streams with and without one unit, beside every one of these; a stream has the counts of one label.

    Among them, if the streams have zeros: a label that only the unit has; one that vanishes and reappears.
    """
    for brought in streams:
        rest = tuple({"a": count} if count else {} for count in brought)
        for n in range(1, rounds_per_unit + 1):
            for places in itertools.combinations(range(len(rest)), n):
                unit = {"a": sensitivity.count}
                joined = tuple(_added(one, unit) if t in places else one for t, one in enumerate(rest))
                said = " and ".join(str(t + 1) for t in places)
                yield Pair(f"a unit in round {said}, beside {tuple(brought)}", rest, joined)


def _histograms(labels: Sequence[str], largest: int) -> Iterator[Histogram]:
    for counts in itertools.product(range(largest + 1), repeat=len(labels)):
        yield {label: count for label, count in zip(labels, counts, strict=True) if count}


def _added(rest: Mapping[str, int], user: Mapping[str, int]) -> Histogram:
    return {label: rest.get(label, 0) + user.get(label, 0) for label in {**rest, **user}}


def _items(sensitivity: Sensitivity, labels: Sequence[str]) -> int:
    return sensitivity.items_within(len(labels))


def _pair(left: Histogram, right: Histogram) -> Pair:
    return Pair(f"{left} and {right}", left, right)
