"""Mutants of the binary mechanism: noise that does not persist, tests that depend on data, a wrong sensitivity.

Data is a sequence of rounds, each a mapping of label to count. One event is in one round of one neighbour only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from unlisted.audit.laws.streams import running_histogram_law
from unlisted.audit.mutants.mutant import ONE, Mutant, Noise, Rows, rows_by_count
from unlisted.audit.subject import OpenBits, Output, Pair, Run, Subject
from unlisted.audit.subjects.batches import running_histogram_batch
from unlisted.mechanisms.continual.binary_histogram import RunningHistogram
from unlisted.mechanisms.continual.binary_tree import largest_popcount
from unlisted.noise.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Guarantee

Rounds = Sequence[Mapping[str, int]]
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
    claim = Guarantee(Fraction(1, 2) / stream.law.variance, stream.escape())
    pair = Pair("the first event", [{"soup": 40}, {}], [{"soup": 41}, {}])
    return _mispriced(
        "misprint: Δ0·log2 L",
        "The printed sensitivity Δ0·log2 L is 1 at two rounds; an event is in two nodes, which is √2.",
        stream,
        claim,
        pair,
        bits,
    )


def _stream(rounds: int, deviations: int = 5, scale: int = 2) -> RunningHistogram:
    highest = largest_popcount(rounds)
    thresholds = tuple(1 + scale * deviations * ones for ones in range(1, highest + 1))
    return RunningHistogram(DiscreteGaussian(Fraction(scale**2)), thresholds, rounds, ONE)


def _persistent(draw: Noise) -> NodeNoise:
    kept: dict[tuple[str, Node], int] = {}
    return lambda label, _round, node: kept.setdefault((label, node), draw())


def _run(stream: RunningHistogram, noise: NodeNoise) -> Run:
    """Return the binary mechanism with the noise that `noise` says."""

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
            shown.append(rows_by_count((label, value) for label, value in noisy.items() if value > threshold))
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
