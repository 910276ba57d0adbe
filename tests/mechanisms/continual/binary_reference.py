"""The survey's binary mechanism written plainly: all rounds, all labels, all nodes, every time, no state."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from unlisted.counts import labels as label_rules
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.noise.keyed import NoiseKey

Round = dict[str, int]
Shown = list[tuple[str, int]]


def nodes_of(t: int) -> list[tuple[int, int]]:
    """The blocks (level, index) whose union is 1 … t; block (j, i) covers the steps (i-1)·2^j + 1 … i·2^j."""
    return [(level, t >> level) for level in range(t.bit_length()) if t >> level & 1]


def covered(level: int, index: int) -> range:
    """The steps of a block."""
    return range((index - 1 << level) + 1, (index << level) + 1)


def plainly(mechanism: RunningHistogram, rounds: Sequence[Round], key: NoiseKey) -> list[Shown]:
    """What is shown in every release."""
    shown_before: set[str] = set()
    steps = [
        rounds[last - mechanism.every : last] for last in range(mechanism.every, len(rounds) + 1, mechanism.every)
    ]
    answers = []
    for t in range(1, len(steps) + 1):
        noisy = {label: _noisy_prefix(mechanism, steps, t, label, key) for label in _seen(steps[:t])}
        shown = {label for label, count in noisy.items() if count > mechanism.thresholds[t.bit_count() - 1]}
        if mechanism.display == "sticky":
            shown |= shown_before
            shown_before = shown
        answers.append(
            sorted(((label, noisy[label]) for label in shown), key=lambda row: (-row[1], row[0].encode()))
        )
    return answers


def _seen(steps: Sequence[Sequence[Round]]) -> set[str]:
    return {label for step in steps for one in step for label, count in one.items() if count > 0}


def _noisy_prefix(
    mechanism: RunningHistogram, steps: Sequence[Sequence[Round]], t: int, label: str, key: NoiseKey
) -> int:
    largest = 2**62 // mechanism.rounds
    total = 0
    for level, index in nodes_of(t):
        total += sum(min(one.get(label, 0), largest) for s in covered(level, index) for one in steps[s - 1])
        law = repr(mechanism.law).encode()
        name = b"%s:%d:%d:%s" % (law, level, index, digest(steps, level, index))
        total += int(mechanism.law.sample_each(key.draws(name, key.tags([label_rules.encode(label)])))[0])
    return total


def digest(steps: Sequence[Sequence[Round]], level: int, index: int) -> bytes:
    """The digest of a block's contents: of two halves, of a step's rounds one after the other, of one round."""
    if level:
        halves = digest(steps, level - 1, 2 * index - 1) + digest(steps, level - 1, 2 * index)
        return hashlib.sha256(b"two blocks:" + halves).digest()
    first, *others = (digest_of_round(one) for one in steps[index - 1])
    for other in others:
        first = hashlib.sha256(b"and then:" + first + other).digest()
    return first


def digest_of_round(one: Round) -> bytes:
    """The digest of one round's rows, in the order of their labels."""
    rows = sorted((label.encode(), count) for label, count in one.items() if count > 0)
    contents = b"".join(struct.pack("<q", len(name)) for name, _ in rows)
    contents += b"".join(name for name, _ in rows)
    contents += b"".join(struct.pack("<q", count) for _, count in rows)
    return hashlib.sha256(b"one round:%s:%d:" % (b"text" if rows else b"empty", len(rows)) + contents).digest()
