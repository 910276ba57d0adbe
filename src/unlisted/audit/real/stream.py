"""A stream in a folder: created, pushed to and read like any other, a new one for every run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from unlisted.audit.real.rows import output_of
from unlisted.audit.subject import Output, Pair, Subject
from unlisted.privacy.guarantee import Budget
from unlisted.streams.stream import Stream

Rounds = Sequence[Mapping[str, int]]


def stream_in_a_folder(folder: Path) -> Subject:
    """Return a stream of three rounds in which an item vanishes, and comes again."""
    first, last = {"soup": 60}, {"soup": 5}
    pair = Pair("one event in the first round", (first, {}, last), ({"soup": 61}, {}, last))
    return stream_subject("stream in a folder", folder, Budget(rho="0.03", delta="0.005"), [pair])


def stream_subject(name: str, folder: Path, budget: Budget, pairs: list[Pair]) -> Subject:
    """Audit everything that a stream ever releases."""
    numbers, rounds = itertools.count(1), len(pairs[0].left)

    def created() -> Stream:
        return Stream.create(
            folder / f"stream {next(numbers)}", rounds=rounds, unit="event", items_per_event=1, budget=budget
        )

    def run(data: Rounds) -> Output:
        stream = created()
        shown = (stream.push(one) for one in data)
        return tuple(output_of(release, "item") for release in shown if release is not None)

    return Subject(name, created().guarantee, lambda: pairs, run)
