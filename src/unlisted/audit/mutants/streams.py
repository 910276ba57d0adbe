"""Mutants of streams: noise that does not persist, tests that depend on data, users and windows at a wrong price.

Data is a sequence of rounds, each a mapping of label to count; one event is in one round of one neighbour only.
Where users are counted, a round is a sequence of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from unlisted.audit.laws.streams import running_histogram_law
from unlisted.audit.mutants.mutant import FAR, ONE, Mutant, Noise, Rows, rows_by_count
from unlisted.audit.subject import OpenBits, Output, Pair, Run, Subject
from unlisted.audit.subjects.batches import running_histogram_batch
from unlisted.mechanisms.continual.binary.histogram import RunningHistogram
from unlisted.mechanisms.continual.binary.tree import largest_popcount
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Guarantee

Rounds = Sequence[Mapping[str, int]]
RowRounds = Sequence[Sequence[tuple[str, str]]]
"""The rows of every round, each a user and an item."""

Node = tuple[int, int]
NodeNoise = Callable[[str, int, Node], int]
"""(label, round, node) -> the noise of that label at that node when the round is shown."""


def redrawn_noise(bits: OpenBits) -> Mutant:
    """Draw the noise again whenever the running histogram is looked at."""
    stream = _stream(rounds=1)
    draw, looks = Noise(stream.law, bits), 4

    def run(rounds: Rounds) -> tuple[Rows, ...]:
        return tuple(_run(stream, lambda _label, _round, _node: draw())(rounds)[-1] for _ in range(looks))

    return _wrong(
        "noise redrawn",
        "The noise is drawn again at every look, so whoever looks often enough averages it away.",
        stream,
        Pair("one event", [{"soup": 40}], [{"soup": 41}]),
        run,
        bits,
    )


def past_without_noise(bits: OpenBits) -> Mutant:
    """Give a label noise only for the nodes since it was first seen."""
    stream = _stream(rounds=7, scale=6)
    draw = Noise(stream.law, bits)

    def run(rounds: Rounds) -> Output:
        first = {label: t for t, counts in reversed(list(enumerate(rounds, start=1))) for label in counts}
        kept: dict[tuple[str, Node], int] = {}

        def since_first_seen(label: str, _round: int, node: Node) -> int:
            level, index = node
            if index << level < first[label]:
                return 0
            return kept.setdefault((label, node), draw())

        return _run(stream, since_first_seen)(rounds)

    later = [*[{}] * 6, {"soup": 200}]
    pair = Pair("an early event", later, [{"soup": 1}, *later[1:]])
    return _wrong(
        "no noise for the past",
        "A new label gets no noise for the rounds before it, so its noise tells when it was first seen.",
        stream,
        pair,
        run,
        bits,
    )


def tested_when_it_comes(bits: OpenBits) -> Mutant:
    """Test a label only in the rounds that bring it."""
    stream = _stream(rounds=3)
    draw = Noise(stream.law, bits)

    def run(rounds: Rounds) -> tuple[Rows, ...]:
        shown = _run(stream, _persistent(draw))(rounds)
        return tuple(
            tuple(row for row in rows if row[0] in counts) for rows, counts in zip(shown, rounds, strict=True)
        )

    start = [{"soup": 40}, {}, {}]
    return _wrong(
        "tested only when it comes",
        "A label is shown only in the rounds that bring it, so the rounds it is shown in are data.",
        stream,
        Pair("an event in the last round", start, [*start[:2], {"soup": 1}]),
        run,
        bits,
    )


def threshold_for_one_round(bits: OpenBits) -> Mutant:
    """Forget that a label is tested in every round."""
    stream = _stream(rounds=7, deviations=2)
    one = stream.law.sum_tail(1, stream.thresholds[0] - stream.lowest_threshold + 1)
    claim = Guarantee(stream.price().rho, one)
    pair = Pair("a singleton in the first round", [{}] * 7, [{"x": 1}, *[{}] * 6])
    return _mispriced(
        "δ of one round", "δ is that of one round, and a label is tested in all seven.", stream, claim, pair, bits
    )


def sensitivity_by_logarithm(bits: OpenBits) -> Mutant:
    """Read the survey's l2 sensitivity of the stream as it is printed, at two rounds."""
    stream = _stream(rounds=2)
    claim = Guarantee(Fraction(1, 2) / stream.law.variance, stream.failure())
    pair = Pair("the first event", [{"soup": 40}, {}], [{"soup": 41}, {}])
    return _mispriced(
        "misprint: Δ0·log2 L",
        "The printed sensitivity Δ0·log2 L is 1 at two rounds; an event is in two nodes, which is √2.",
        stream,
        claim,
        pair,
        bits,
    )


def counted_again(bits: OpenBits) -> Mutant:
    """Count a user in every round, at the price of counting once for each item."""
    stream = _stream(rounds=7)
    others = [[(f"user{i}", "soup") for i in range(FAR + 40)], *[[]] * 6]
    pair = Pair("a user of every round", others, [[*rows, ("faithful", "soup")] for rows in others])
    return _counted(
        "a user counted in every round",
        "A user counts again in every round, and the price is that of counting once for each item.",
        stream,
        pair,
        lambda rounds: [Counter(item for _, item in set(rows)) for rows in rounds],
        bits,
    )


def items_without_a_bound(bits: OpenBits) -> Mutant:
    """Count a user once for each item, however many they have, at the price of one item."""
    stream = _stream(rounds=2)
    items = [f"item{i}" for i in range(12)]
    others = [[(f"{item} {i}", item) for item in items for i in range(FAR + 20)], []]
    half = len(items) // 2
    parts = [[("curious", item) for item in part] for part in (items[:half], items[half:])]
    pair = Pair("a user of twelve items", others, [[*rows, *own] for rows, own in zip(others, parts, strict=True)])

    def counted(rounds: RowRounds) -> Rounds:
        seen: set[tuple[str, str]] = set()
        found = []
        for rows in rounds:
            found.append(Counter(item for user, item in set(rows) - seen))
            seen |= set(rows)
        return found

    return _counted(
        "items without a bound",
        "A user counts once for each of their items, and the price is that of one item in all rounds.",
        stream,
        pair,
        counted,
        bits,
    )


def windows_with_one_noise(bits: OpenBits) -> Mutant:
    """Use the noise of a window again in the next one."""
    stream = _stream(rounds=1)
    draw = Noise(stream.law, bits)

    def run(rounds: Rounds) -> tuple[Rows, ...]:
        noise = _persistent(draw)
        return tuple(_run(stream, noise)([counts])[0] for counts in rounds)

    pair = Pair("an event in the second window", [{"soup": 40}] * 2, [{"soup": 40}, {"soup": 41}])
    return Mutant(
        "Windows have one key, so their noise is the same, and the difference of two windows has none.",
        Subject("windows with one noise", stream.guarantee(), lambda: [pair], run),
        Subject("repaired", stream.guarantee(), lambda: [pair], lambda rounds: _windows(stream, draw, rounds)),
        trials=20_000,
    )


def windows_paid_once(bits: OpenBits) -> Mutant:
    """Let a user count in every window, at the price of one."""
    windows = 16
    stream = _stream(rounds=1)
    draw = Noise(stream.law, bits)
    pair = Pair("a user of every window", [{"soup": 40}] * windows, [{"soup": 41}] * windows)

    def subject(name: str, paid: RunningHistogram) -> Subject:
        return Subject(name, paid.guarantee(), lambda: [pair], lambda rounds: _windows(stream, draw, rounds))

    return Mutant(
        "A user counts in sixteen windows, and the price is that of an event, which lies in one.",
        subject("windows paid once", stream),
        subject("repaired", replace(stream, windows_per_unit=windows)),
        trials=8_000,
    )


def known_by_counting(bits: OpenBits) -> Mutant:
    """Let the next life of a stream know what the last one has counted, shown or not."""
    stream = _stream(rounds=1)
    draw = Noise(stream.law, bits)
    pair = Pair("a singleton in the last life", [{}, {"x": 1}], [{"x": 1}, {"x": 1}])

    def lives(rounds: Rounds, *, from_counts: bool) -> tuple[Rows, ...]:
        last, following = rounds
        [shown] = _run(stream, _persistent(draw))([last])
        known = set(last) if from_counts else {label for label, _ in shown}
        [found] = _run(stream, _persistent(draw), known)([following])
        return shown, found

    both = stream.guarantee() + stream.guarantee()
    return Mutant(
        "The next life knows the values that the last one has counted, and not only those that it has shown.",
        Subject("known by counting", both, lambda: [pair], lambda rounds: lives(rounds, from_counts=True)),
        Subject("repaired", both, lambda: [pair], lambda rounds: lives(rounds, from_counts=False)),
        trials=20_000,
    )


def _counted(
    name: str,
    wrong: str,
    stream: RunningHistogram,
    pair: Pair,
    counted: Callable[[RowRounds], Rounds],
    bits: OpenBits,
) -> Mutant:
    """Return a mutant that counts users in a wrong way, at the price of one who counts once for one item."""
    draw = Noise(stream.law, bits)

    def subject(name: str, count: Callable[[RowRounds], Rounds]) -> Subject:
        def run(rounds: RowRounds) -> Output:
            return _run(stream, _persistent(draw))(count(rounds))

        return Subject(name, stream.guarantee(), lambda: [pair], run)

    return Mutant(wrong, subject(name, counted), subject("repaired", _first_touch), trials=8_000)


def _first_touch(rounds: RowRounds) -> Rounds:
    """Count a user once, for the first item that they have in any round."""
    seen: set[str] = set()
    found = []
    for rows in rounds:
        counts: Counter[str] = Counter()
        for user, item in rows:
            if user not in seen:
                seen.add(user)
                counts[item] += 1
        found.append(counts)
    return found


def _windows(stream: RunningHistogram, draw: Noise, rounds: Rounds) -> tuple[Rows, ...]:
    """Return what windows of a round each show, every one with noise of its own."""
    return tuple(_run(stream, _persistent(draw))([counts])[0] for counts in rounds)


def _stream(rounds: int, deviations: int = 5, scale: int = 2) -> RunningHistogram:
    highest = largest_popcount(rounds)
    thresholds = tuple(1 + scale * deviations * ones for ones in range(1, highest + 1))
    return RunningHistogram(DiscreteGaussian(Fraction(scale**2)), thresholds, rounds, ONE)


def _persistent(draw: Noise) -> NodeNoise:
    kept: dict[tuple[str, Node], int] = {}
    return lambda label, _round, node: kept.setdefault((label, node), draw())


def _run(stream: RunningHistogram, noise: NodeNoise, known: Collection[str] = ()) -> Run:
    """Return the binary mechanism with the noise that `noise` says; known labels are shown from 0 on."""

    def run(rounds: Rounds) -> tuple[Rows, ...]:
        totals: dict[str, int] = {}
        shown = []
        for t, counts in enumerate(rounds, start=1):
            for label, count in counts.items():
                totals[label] = totals.get(label, 0) + count
            nodes = [(level, t >> level) for level in range(t.bit_length()) if t >> level & 1]
            noisy = {
                label: total + sum(noise(label, t, node) for node in nodes) for label, total in totals.items()
            }
            threshold = stream.thresholds[t.bit_count() - 1]
            bars = {label: 0 if label in known else threshold for label in noisy}
            shown.append(rows_by_count((label, value) for label, value in noisy.items() if value > bars[label]))
        return tuple(shown)

    return run


def _wrong(name: str, wrong: str, stream: RunningHistogram, pair: Pair, run: Run, bits: OpenBits) -> Mutant:
    return Mutant(
        wrong,
        Subject(name, stream.guarantee(), lambda: [pair], run),
        _right("repaired", stream, stream.guarantee(), pair, bits),
        trials=20_000,
    )


def _mispriced(
    name: str, wrong: str, stream: RunningHistogram, claim: Guarantee, pair: Pair, bits: OpenBits
) -> Mutant:
    return Mutant(
        wrong,
        _right(name, stream, claim, pair, bits),
        _right("repaired", stream, stream.guarantee(), pair, bits),
        trials=1_000_000,
    )


def _right(name: str, stream: RunningHistogram, claim: Guarantee, pair: Pair, bits: OpenBits) -> Subject:
    """Return the mechanism as it is, with a claim; few rounds have an exact law too."""
    draw = Noise(stream.law, bits)

    def run(rounds: Rounds) -> Output:
        # Noise persists within a run, and every run has its own.
        return _run(stream, _persistent(draw))(rounds)

    return Subject(
        name,
        claim,
        lambda: [pair],
        run,
        (lambda rounds: running_histogram_law(stream, rounds)) if stream.rounds <= 2 else None,
        running_histogram_batch(stream, bits),
    )
