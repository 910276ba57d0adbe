"""Mutants of counting labels that were found: a user weighs more than is paid for, or steers with true numbers.

The labels are given here, as they are once they were released, and so is what was paid for sizes and counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial

from unlisted.audit.laws.find_then_count import best_in_full, class_sizes, one_row, sums
from unlisted.audit.laws.histograms import in_order
from unlisted.audit.laws.labels import Crowd
from unlisted.audit.laws.noise import noise_law
from unlisted.audit.laws.output_law import OutputLaw, independent
from unlisted.audit.mutants.mutant import Mutant, Noise
from unlisted.audit.subject import OpenBits, Pair, Subject
from unlisted.audit.subjects.labels import joined
from unlisted.counts.weights import UNIT, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_count import FindThenCount
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.privacy.guarantee import Guarantee

Sums = Callable[[Crowd], dict[str, int]]
"""What all users of each label count for, in grains."""

_GRAIN = 2
_DELTA = Fraction(1, 1000)


def weights_rounded_up(bits: OpenBits) -> Mutant:
    """Round what a user counts for to the next larger grain."""
    mechanism, labels = _counting(Fraction(2)), "abc"
    pair = _joining(labels, {"a": 3})

    def up(crowd: Crowd) -> dict[str, int]:
        found = dict.fromkeys(labels, 0)
        for held, times in crowd.items():
            for label in held:
                found[label] += times * math.ceil(_GRAIN / math.sqrt(len(held)))
        return found

    claim = Guarantee(mechanism.counts_rho, _DELTA)
    right = partial(sums, labels=tuple(labels), in_full=1, grain=_GRAIN)
    law = mechanism.counts_law(1, _GRAIN)
    return Mutant(
        "What a user with three labels counts for is rounded up to whole grains, so that all three count in full.",
        _counted("weights rounded up", claim, up, lambda _: law, pair, bits),
        _counted("repaired", claim, right, lambda _: law, pair, bits),
    )


def in_full_by_true_sizes(bits: OpenBits) -> Mutant:
    """Choose D1 from how many labels users have, without noise."""
    mechanism, labels = _counting(Fraction(1)), ("a", "b")
    # One user of both labels more, and D1 is 2 and no longer 1: weights and noise are others for everybody.
    pair = _joining("ab", {"a": 9, "ab": _users_before_the_turn(mechanism, labels)})
    claim = Guarantee(mechanism.sizes_rho + mechanism.counts_rho, _DELTA)

    def in_full(crowd: Crowd) -> int:
        return best_in_full(mechanism, labels, tuple(class_sizes(crowd, labels)))

    def chosen(crowd: Crowd) -> dict[str, int]:
        return sums(crowd, labels, in_full(crowd), _GRAIN)

    wrong = _counted(
        "D1 by true sizes", claim, chosen, lambda crowd: mechanism.counts_law(in_full(crowd), _GRAIN), pair, bits
    )
    law = mechanism.counts_law(1, _GRAIN)
    right = partial(sums, labels=labels, in_full=1, grain=_GRAIN)
    return Mutant(
        "For how many labels users count in full is read from how many they have, without noise.",
        wrong,
        _counted("repaired", claim, right, lambda _: law, pair, bits),
    )


def two_groups_paid_once(bits: OpenBits) -> Mutant:
    """Count the labels of two groups, each as if a user had no others, and pay for one."""
    mechanism = _counting(Fraction(8))
    groups, pair = ("a", "b"), _joining("ab", {"a": 3})
    law = mechanism.counts_law(1, _GRAIN)

    def each(crowd: Crowd) -> dict[str, int]:
        found: dict[str, int] = {}
        for group in groups:
            found |= sums(crowd, tuple(group), 1, _GRAIN)
        return found

    def claim(times: int) -> Guarantee:
        return Guarantee(times * mechanism.counts_rho, _DELTA)

    return Mutant(
        "Labels are counted in two groups, a user may be in both, and the counts are paid for once.",
        _counted("two groups paid once", claim(1), each, lambda _: law, pair, bits),
        _counted("repaired", claim(2), each, lambda _: law, pair, bits),
        trials=60_000,
    )


def _counting(variance: Fraction) -> FindThenCount:
    """Return a mechanism of which only sizes and counts play a part."""
    selection = LabelSelection((LabelRound(Weighing(2), Fraction(1), 10 * UNIT),))
    return FindThenCount(selection, Fraction(4), variance / 8, grain=_GRAIN)


def _users_before_the_turn(mechanism: FindThenCount, labels: tuple[str, ...]) -> int:
    """Return how many users of both labels are just too few for D1 to be 2."""
    users = 0
    while best_in_full(mechanism, labels, (9, users + 1)) == 1:
        users += 1
    return users


def _joining(user: str, crowd: Crowd) -> Pair:
    return Pair(f"{user} joins {dict(crowd)}", crowd, joined(crowd, user))


def _counted(
    name: str,
    claim: Guarantee,
    totals: Sums,
    noise_of: Callable[[Crowd], DiscreteGaussian],
    pair: Pair,
    bits: OpenBits,
) -> Subject:
    """Return noisy sums as a subject."""
    noises: dict[Fraction, Noise] = {}

    def run(crowd: Crowd) -> Sequence[tuple[str, int]]:
        law = noise_of(crowd)
        noise = noises.setdefault(law.variance, Noise(law, bits))
        return in_order(tuple(((label, _users(total + noise())),) for label, total in totals(crowd).items()))

    def law_of(crowd: Crowd) -> OutputLaw:
        noise = noise_law(noise_of(crowd))
        return independent([one_row(label, n, _GRAIN, noise) for label, n in totals(crowd).items()], in_order)

    return Subject(name, claim, lambda: [pair], run, law_of)


def _users(grains: int) -> int:
    return math.floor(grains / _GRAIN + 0.5)
