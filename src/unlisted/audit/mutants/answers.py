"""Mutants of what is given out beside noisy counts: an order, a number, a shape that depends on true counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from unlisted.audit.mutants.mutant import (
    FAR,
    LAPLACE,
    ONE,
    Mutant,
    Noise,
    Rows,
    released,
    rows_by_count,
)
from unlisted.audit.mutants.thresholds import histogram_run
from unlisted.audit.subject import OpenBits, Output, Pair, Subject
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram

Histogram = Mapping[str, int]
Give = Callable[[Histogram, Rows], Output]

RIGHT = ThresholdHistogram(LAPLACE, 9, ONE)


def sorted_by_true_count(bits: OpenBits) -> Mutant:
    """Leave the rows in the order in which the engine sorted them before the noise."""

    def as_sorted(histogram: Histogram, rows: Rows) -> Output:
        return tuple(sorted(rows, key=lambda row: (-histogram[row[0]], row[0])))

    return _giving(
        "sorted by true count",
        "Rows come out in the order of their true counts.",
        as_sorted,
        Pair("one label overtakes", {"bread": FAR, "soup": FAR}, {"bread": FAR, "soup": FAR + 1}),
        bits,
    )


def hidden_labels_counted(bits: OpenBits) -> Mutant:
    """Say how many labels stayed below the threshold."""
    return _giving(
        "hidden labels counted",
        "The answer says how many labels were left out, without noise.",
        lambda histogram, rows: (len(histogram) - len(rows), rows),
        Pair("a singleton appears", {"soup": FAR}, {"soup": FAR, "x": 1}),
        bits,
    )


def nothing_said_of_nothing(bits: OpenBits) -> Mutant:
    """Answer an empty table with an error, and one that shows nothing with an empty list."""
    return _giving(
        "empty table told apart",
        "A table without rows is answered otherwise than a table whose rows all stay hidden.",
        lambda histogram, rows: rows if histogram else "there are no rows",
        Pair("the only user", {}, {"x": 1}),
        bits,
    )


def true_minimum(bits: OpenBits) -> Mutant:
    """Release only what has enough true users, after the noise has already decided."""

    def with_enough(histogram: Histogram, rows: Rows) -> Output:
        return tuple(row for row in rows if histogram[row[0]] > FAR)

    return _giving(
        "exact floor on users",
        "A label must also have more than 20 true users, and whether it has is not noisy.",
        with_enough,
        Pair("a count reaches the floor", {"soup": FAR}, {"soup": FAR + 1}),
        bits,
    )


def one_draw_for_all(bits: OpenBits) -> Mutant:
    """Add the same noise to every count."""
    noise = Noise(RIGHT.law, bits)

    def run(histogram: Histogram) -> Rows:
        shared = noise()
        noisy = {label: count + shared for label, count in histogram.items()}
        return rows_by_count((label, value) for label, value in noisy.items() if value > RIGHT.threshold)

    pair = Pair("one label overtakes", {"bread": FAR, "soup": FAR}, {"bread": FAR, "soup": FAR + 1})
    return Mutant(
        "All counts share one draw, so their differences come out without noise.",
        Subject("one draw for all labels", RIGHT.guarantee(), lambda: [pair], run),
        _plain(pair, bits),
    )


def _giving(name: str, wrong: str, give: Give, pair: Pair, bits: OpenBits) -> Mutant:
    noise = Noise(RIGHT.law, bits)

    def run(histogram: Histogram) -> Output:
        return give(histogram, released(histogram, noise, RIGHT.threshold))

    return Mutant(wrong, Subject(name, RIGHT.guarantee(), lambda: [pair], run), _plain(pair, bits))


def _plain(pair: Pair, bits: OpenBits) -> Subject:
    run = histogram_run(RIGHT.law, RIGHT.threshold, RIGHT.minimum_count, bits)
    return Subject("repaired", RIGHT.guarantee(), lambda: [pair], run)
