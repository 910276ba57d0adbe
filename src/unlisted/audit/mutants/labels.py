"""Mutants of choosing labels by weight: a user weighs more than is paid for, or has more chances to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction

from unlisted.audit.laws.labels import (
    Crowd,
    Weights,
    adapted_weights,
    full_weights,
    in_order,
    label_selection_law,
    labels_over,
    shown_and_left_out,
    weights_of,
    without,
)
from unlisted.audit.laws.output_law import OutputLaw
from unlisted.audit.mutants.mutant import Mutant, Uniform
from unlisted.audit.subject import OpenBits, Pair, Subject
from unlisted.audit.subjects.labels import joined
from unlisted.counts.weights import UNIT, Rerouting, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee

Weigh = Callable[[Crowd], Weights]

FOUR = "abcd"
_EPSILON = Fraction(1)


def every_item_in_full(bits: OpenBits) -> Mutant:
    """Let every item weigh 1."""
    one = LabelRound(Weighing(4), Fraction(1), 4 * UNIT)

    def counted(crowd: Crowd) -> Weights:
        return full_weights([(label, times) for labels, times in crowd.items() for label in labels])

    pair = _joining(FOUR, {FOUR: 4})
    return Mutant(
        "A user's items weigh 1 each, however many, and the noise is that for 1/√n each.",
        _weighed_by("every item in full", counted, one, pair, bits),
        _right(LabelSelection((one,)), pair, bits),
    )


def lone_label_of_one(bits: OpenBits) -> Mutant:
    """Take the label that a user has alone to be the only one."""
    of_one, of_four = (
        LabelSelection((LabelRound(Weighing(items), Fraction(1), 2 * UNIT),), _EPSILON) for items in (1, 4)
    )
    pair = _joining(FOUR, {})
    return Mutant(
        "δ is the chance of one label of weight 1 to show, but one of four labels of weight 1/2 shows more often.",
        _claiming("one heavy for four light", of_four, of_one.guarantee(), pair, bits),
        _right(of_four, pair, bits),
    )


def whole_delta_for_each_round(bits: OpenBits) -> Mutant:
    """Forget that a label that stays hidden is tried again."""
    one = LabelRound(Weighing(1), Fraction(16), 5 * UNIT)
    selection, pair = LabelSelection((one,) * 3, _EPSILON), _joining("a", {})
    right = selection.guarantee()
    direct = EpsilonDelta(_EPSILON, selection.delta_at(_EPSILON) - 2 * one.failure)
    return Mutant(
        "A label that stayed hidden is tried in two more rounds, and each round has the whole δ.",
        _claiming("δ for each round of labels", selection, Guarantee(right.rho, one.failure, direct), pair, bits),
        _right(selection, pair, bits),
    )


def given_back_to_each(bits: OpenBits) -> Mutant:
    """Give all of what a user got back to each of the user's items."""
    rerouting = Rerouting(UNIT, 4)
    one = LabelRound(Weighing(4, rerouting), Fraction(1), 7 * UNIT)
    pair = _joining(FOUR, {FOUR: 8})
    return Mutant(
        "What a user gets back from common labels goes to each of the user's labels in full and is not shared.",
        _weighed_by(
            "given back to each",
            lambda crowd: adapted_weights(list(crowd.items()), rerouting, 1),
            one,
            pair,
            bits,
        ),
        _right(LabelSelection((one,)), pair, bits),
    )


def hint_without_noise(bits: OpenBits) -> Mutant:
    """Read from the weights themselves which labels stay in play."""
    selection, pair = _hinted(6), _joining("a", {"a": 6})

    def later(crowd: Crowd, _: Iterable[str]) -> Crowd:
        hint, weights = selection.rounds[0].hint, weights_of(selection.last.weighing, crowd)
        assert hint is not None  # the first round gives one
        return without(crowd, [label for label, weight in weights.items() if weight <= hint])

    return Mutant(
        "A hint is read from the weight of a label, without noise.",
        _steered("a hint without noise", selection, later, weights_of, pair, bits),
        _right(selection, pair, bits),
    )


def steered_by_others_labels(bits: OpenBits) -> Mutant:
    """Share weight among all labels in play, those of other users too."""
    selection, pair = _hinted(1), _joining("x", {"a": 10})

    def of_all_in_play(weighing: Weighing, crowd: Crowd) -> Weights:
        n = len({label for labels in crowd for label in labels})
        return {label: weight / Decimal(n).sqrt() for label, weight in weights_of(weighing, crowd).items()}

    return Mutant(
        "A user's weight is shared among all labels in play, so a label that nobody may know of moves all others.",
        _steered("steered by others' labels", selection, without, of_all_in_play, pair, bits),
        _right(selection, pair, bits),
    )


def _hinted(hint: int) -> LabelSelection:
    """Return two rounds, of which the first gives a hint."""
    first = LabelRound(Weighing(2), Fraction(4), 14 * UNIT, hint * UNIT)
    return LabelSelection((first, LabelRound(Weighing(2), Fraction(1), 8 * UNIT)), _EPSILON)


def _steered(
    name: str,
    selection: LabelSelection,
    later: Callable[[Crowd, Iterable[str]], Crowd],
    weigh: Callable[[Weighing, Crowd], Weights],
    pair: Pair,
    bits: OpenBits,
) -> Subject:
    """Return two rounds, the second with other labels or other weights, and the claim of the right ones."""
    uniform, (first, second) = Uniform(bits), selection.rounds

    def run(crowd: Crowd) -> tuple[str, ...]:
        weights = weights_of(first.weighing, crowd)
        drawn = {label: uniform() for label in weights}
        shown = {label for label in weights if drawn[label] < first.chance(float(weights[label]) / UNIT)}
        stays = {label: _stays(first, float(weights[label]) / UNIT) for label in weights}
        left_out = {label for label in weights if drawn[label] >= stays[label]}
        left = without(later(crowd, left_out), shown)
        return in_order([tuple(shown), _passing(weigh(second.weighing, left), second, uniform)])

    def law(crowd: Crowd) -> OutputLaw:
        def after(drawn: tuple[tuple[str, ...], tuple[str, ...]]) -> OutputLaw:
            shown, left_out = drawn
            found = labels_over(weigh(second.weighing, without(later(crowd, left_out), shown)), second)
            return found.seen_as(lambda more: in_order([shown, more]))

        both = shown_and_left_out(weights_of(first.weighing, crowd), first).then(after)
        return both.seen_as(lambda pair: pair[1])

    return Subject(name, selection.guarantee(), lambda: [pair], run, law)


def _stays(one: LabelRound, weight: float) -> float:
    return one.chance(weight) + one.chance_in_play(weight)


def _joining(user: str, crowd: Crowd) -> Pair:
    return Pair(f"{user} joins {dict(crowd)}", crowd, joined(crowd, user))


def _right(selection: LabelSelection, pair: Pair, bits: OpenBits) -> Subject:
    return _claiming("repaired", selection, selection.guarantee(), pair, bits)


def _claiming(name: str, selection: LabelSelection, claim: Guarantee, pair: Pair, bits: OpenBits) -> Subject:
    """Return a selection as it is, with a claim of its own."""
    uniform = Uniform(bits)

    def run(crowd: Crowd) -> tuple[str, ...]:
        released: tuple[str, ...] = ()
        for one in selection.rounds:
            weights = weights_of(one.weighing, crowd)
            drawn = {label: (uniform(), float(weight) / UNIT) for label, weight in weights.items()}
            shown = tuple(label for label, (u, weight) in drawn.items() if u < one.chance(weight))
            crowd = without(crowd, [*shown, *(label for label, (u, w) in drawn.items() if u >= _stays(one, w))])
            released = in_order([released, shown])
        return released

    return Subject(name, claim, lambda: [pair], run, lambda crowd: label_selection_law(selection, crowd))


def _weighed_by(name: str, weigh: Weigh, one: LabelRound, pair: Pair, bits: OpenBits) -> Subject:
    """Return one round with other weights, and the claim of the right ones."""
    uniform = Uniform(bits)

    def run(crowd: Crowd) -> tuple[str, ...]:
        return _passing(weigh(crowd), one, uniform)

    def law(crowd: Crowd) -> OutputLaw:
        return labels_over(weigh(crowd), one)

    return Subject(name, LabelSelection((one,)).guarantee(), lambda: [pair], run, law)


def _passing(weights: Weights, one: LabelRound, uniform: Uniform) -> tuple[str, ...]:
    return in_order(
        [(label,) for label, weight in weights.items() if uniform() < one.chance(float(weight) / UNIT)]
    )
