"""The exact law of a running histogram over a few rounds: labels are independent, and so are the nodes of each.

The noise on a running count is a sum over the binary digits of the release's number. From one to the next the
digits that turn to 0 take their nodes with them, and the one that turns to 1 brings a fresh node.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from unlisted.audit.laws.histograms import Histogram, in_order
from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import ALL, DOWN, NONE, OutputLaw, independent
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram


class _Past(NamedTuple):
    """What the future of one label depends on: the noise in force, whether it was shown, what came out so far."""

    noise: tuple[int, ...]
    shown: bool
    values: tuple[int | None, ...]


def running_histogram_law(mechanism: RunningHistogram, rounds: Sequence[Histogram]) -> OutputLaw:
    """Return the law of what is shown in every release, a tuple with one histogram for each."""
    steps = len(rounds) // mechanism.every
    released = rounds[: steps * mechanism.every]
    labels = sorted({label for counts in released for label, count in counts.items() if count > 0})
    parts = [
        _one_label(mechanism, label, _by_step([counts.get(label, 0) for counts in released], mechanism.every))
        for label in labels
    ]

    def joined(shown: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(in_order(tuple(one[t] for one in shown)) for t in range(steps))

    return independent(parts, joined)


def _by_step(counts: list[int], every: int) -> list[int]:
    """Add up the rounds between one release and the next."""
    return [sum(counts[start : start + every]) for start in range(0, len(counts), every)]


def _one_label(mechanism: RunningHistogram, label: str, counts: list[int]) -> OutputLaw:
    """Return the law of one label's rows, release by release."""
    first = next(t for t, count in enumerate(counts, start=1) if count > 0)
    noise = noise_law(mechanism.law)
    # A label that is new has noise at every node of the present prefix, as if it had been there with counts 0.
    pasts = {_Past((), shown=False, values=(None,) * (first - 1)): ALL}
    for _ in range(first.bit_count() - 1):
        pasts = _with_fresh_node(pasts, noise, dropped=0)
    for t in range(first, len(counts) + 1):
        turned_off = _trailing_zeros(t) if t > first else 0
        pasts = _with_fresh_node(pasts, noise, dropped=turned_off)
        pasts = _tested(pasts, mechanism, t, sum(counts[:t]))
    return OutputLaw.adding_up(
        (tuple(() if value is None else ((label, value),) for value in past.values), chance)
        for past, chance in pasts.items()
    )


def _with_fresh_node(pasts: dict[_Past, Decimal], noise: OutputLaw, dropped: int) -> dict[_Past, Decimal]:
    following: dict[_Past, Decimal] = {}
    for past, chance in pasts.items():
        kept = past.noise[: len(past.noise) - dropped]
        for z, one in noise.at_least.items():
            _add(following, past._replace(noise=(*kept, z)), DOWN.multiply(chance, one))
    return following


def _tested(pasts: dict[_Past, Decimal], mechanism: RunningHistogram, t: int, total: int) -> dict[_Past, Decimal]:
    threshold = mechanism.thresholds[t.bit_count() - 1]
    following: dict[_Past, Decimal] = {}
    for past, chance in pasts.items():
        noisy = total + sum(past.noise)
        shown = noisy > threshold or (mechanism.display == "sticky" and past.shown)
        values = (*past.values, noisy if shown else None)
        _add(following, _Past(past.noise, past.shown or shown, values), chance)
    return following


def _add(pasts: dict[_Past, Decimal], past: _Past, chance: Decimal) -> None:
    pasts[past] = DOWN.add(pasts.get(past, NONE), chance)


def _trailing_zeros(t: int) -> int:
    return (t & -t).bit_length() - 1
