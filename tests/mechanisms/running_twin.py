"""The survey's binary mechanism written plainly: all rounds, all labels, all nodes, every time, no state."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from unlisted.mechanisms import labels as label_rules
from unlisted.mechanisms.running_histogram import RunningHistogram
from unlisted.noise.keyed import NoiseKey

Round = dict[str, int]
Shown = list[tuple[str, int]]


def nodes_of(t: int) -> list[tuple[int, int]]:
    """The blocks (level, index) whose union is 1 … t; block (j, i) covers the rounds (i-1)·2^j + 1 … i·2^j."""
    return [(level, t >> level) for level in range(t.bit_length()) if t >> level & 1]


def covered(level: int, index: int) -> range:
    """The rounds of a block."""
    return range((index - 1 << level) + 1, (index << level) + 1)


def plainly(mechanism: RunningHistogram, rounds: Sequence[Round], key: NoiseKey) -> list[Shown]:
    """What is shown after every round."""
    shown_before: set[str] = set()
    answers = []
    for t in range(1, len(rounds) + 1):
        noisy = {label: _noisy_prefix(mechanism, rounds, t, label, key) for label in _seen(rounds[:t])}
        shown = {label for label, count in noisy.items() if count > mechanism.thresholds[t.bit_count() - 1]}
        if mechanism.display == "sticky":
            shown |= shown_before
            shown_before = shown
        answers.append(
            sorted(((label, noisy[label]) for label in shown), key=lambda row: (-row[1], row[0].encode()))
        )
    return answers


def _seen(rounds: Sequence[Round]) -> set[str]:
    return {label for one in rounds for label, count in one.items() if count > 0}


def _noisy_prefix(mechanism: RunningHistogram, rounds: Sequence[Round], t: int, label: str, key: NoiseKey) -> int:
    largest = 2**62 // mechanism.rounds
    total = 0
    for level, index in nodes_of(t):
        total += sum(min(rounds[r - 1].get(label, 0), largest) for r in covered(level, index))
        law = repr(mechanism.law).encode()
        name = b"%s:%d:%d:%s" % (law, level, index, digest(rounds, level, index))
        total += int(mechanism.law.sample_each(key.draws(name, key.tags([label_rules.encode(label)])))[0])
    return total


def digest(rounds: Sequence[Round], level: int, index: int) -> bytes:
    """The digest of a block's contents: of one round's rows, or of two halves."""
    if level:
        halves = digest(rounds, level - 1, 2 * index - 1) + digest(rounds, level - 1, 2 * index)
        return hashlib.sha256(b"two blocks:" + halves).digest()
    rows = sorted((label_rules.encode(label), count) for label, count in rounds[index - 1].items() if count > 0)
    contents = b"".join(b"%d:%s%d;" % (len(name), name, count) for name, count in rows)
    return hashlib.sha256(b"one round:" + contents).digest()
