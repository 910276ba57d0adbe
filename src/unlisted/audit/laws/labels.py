"""The exact law of labels in rounds on small tables, from what the mechanism is said to do.

A table is a crowd: {"ab": 3, "c": 1} are three users with the labels a and b, and one with c. A user with n labels
gives each 1/√n, rounded down to whole units, and labels with enough give some of it back. Nothing here is computed
by the program.
"""

from __future__ import annotations

import decimal
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from unlisted.audit.laws.histograms import draws
from unlisted.audit.laws.noise import chance_above
from unlisted.audit.laws.output_law import ALL, DOWN, NONE, OutputLaw, independent
from unlisted.audit.subject import BOTTOM
from unlisted.counts.weights import UNIT, Rerouting, Weighing
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.mechanisms.partition_selection.then_rank import LabelRanking

Crowd = Mapping[str, int]
"""How many users have exactly the labels of a word, which are its letters."""

Weights = Mapping[str, Decimal]
"""What labels weigh, in units."""

_PRECISE = decimal.Context(prec=60)


def label_selection_law(selection: LabelSelection, crowd: Crowd) -> OutputLaw:
    """Return the law of the labels that all rounds release, in their order."""
    return _of_rounds(selection.rounds, crowd, ())


def _of_rounds(rounds: Sequence[LabelRound], crowd: Crowd, released: tuple[str, ...]) -> OutputLaw:
    if not rounds:
        return OutputLaw({released: ALL})
    one = rounds[0]

    def later(drawn: tuple[tuple[str, ...], tuple[str, ...]]) -> OutputLaw:
        shown, left_out = drawn
        return _of_rounds(rounds[1:], without(crowd, (*shown, *left_out)), in_order([released, shown]))

    # Who was left out by a hint steers the rounds after it and is not seen.
    following = shown_and_left_out(weights_of(one.weighing, crowd), one).then(later)
    return following.seen_as(lambda pair: pair[1])


def label_ranking_law(ranking: LabelRanking, crowd: Crowd) -> OutputLaw:
    """Return the law of a ranking of the labels that a selection released: ⊥ last if there were too few."""

    def ranked(labels: tuple[str, ...]) -> OutputLaw:
        scores = {label: ranking.epsilon * users_of(label, crowd) for label in labels}
        return OutputLaw(dict(draws(scores, ranking.k))).seen_as(lambda order: ended(order, ranking.k))

    return label_selection_law(ranking.selection, crowd).then(ranked).seen_as(lambda pair: pair[1])


def users_of(label: str, crowd: Crowd) -> int:
    """Return how many users have a label."""
    return sum(times for labels, times in crowd.items() if label in labels)


def ended(order: tuple[str, ...], k: int) -> tuple[str | None, ...]:
    """Return a ranking as it is told: where there were fewer than k labels, that is told too."""
    return order if len(order) == k else (*order, BOTTOM)


def labels_over(weights: Weights, one: LabelRound) -> OutputLaw:
    """Return the law of the labels that one round releases, of these weights: a Bernoulli draw for each."""
    return independent([_draw_law(label, weight, one) for label, weight in weights.items()], in_order)


def shown_and_left_out(weights: Weights, one: LabelRound) -> OutputLaw:
    """Return the law of the labels that one round releases, and of those that its hint leaves out of others."""
    if one.hint is None:
        return labels_over(weights, one).seen_as(lambda shown: (shown, ()))
    # A label is above the threshold, up to the hint, or between them.
    categories = [_category(label, weight, one) for label, weight in weights.items()]
    return independent(categories, lambda parts: (in_order(p[0] for p in parts), in_order(p[1] for p in parts)))


def _category(label: str, weight: Decimal, one: LabelRound) -> OutputLaw:
    assert one.hint is not None  # or there would be no categories
    shown, passed = (_above(mark, weight, one) for mark in (one.threshold, one.hint))
    chances = {
        ((label,), ()): shown[0],
        ((), (label,)): DOWN.subtract(ALL, passed[1]),
        ((), ()): max(NONE, DOWN.subtract(passed[0], shown[1])),
    }
    return OutputLaw({outcome: chance for outcome, chance in chances.items() if chance > NONE})


def _above(mark: int, weight: Decimal, one: LabelRound) -> tuple[Decimal, Decimal]:
    """Bound the chance that a label of this weight is above a mark."""
    with decimal.localcontext(_PRECISE):
        deviation = (Decimal(one.variance.numerator) / one.variance.denominator).sqrt() * UNIT
        return chance_above((mark - weight) / deviation)


def _draw_law(label: str, weight: Decimal, one: LabelRound) -> OutputLaw:
    low, high = _above(one.threshold, weight, one)
    chances = {(label,): low, (): DOWN.subtract(ALL, high)}
    return OutputLaw({outcome: chance for outcome, chance in chances.items() if chance > NONE})


def weights_of(weighing: Weighing, crowd: Crowd) -> Weights:
    """Return what labels weigh; a user with too many keeps the first in their order."""
    users = [("".join(sorted(labels)[: weighing.items]), times) for labels, times in crowd.items() if labels]
    with decimal.localcontext(_PRECISE):
        if weighing.rerouting is None:
            return full_weights(users)
        return adapted_weights(users, weighing.rerouting, weighing.rerouting.spread)


def full_weights(users: Iterable[tuple[str, int]]) -> Weights:
    """Return what labels weigh if nothing is rerouted."""
    weights: dict[str, Decimal] = {}
    for labels, times in users:
        for label in labels:
            weights[label] = weights.get(label, NONE) + times * _units(UNIT / Decimal(len(labels)).sqrt())
    return weights


def adapted_weights(users: Sequence[tuple[str, int]], rerouting: Rerouting, spread: int) -> Weights:
    """Return what they weigh if those with more than enough give the rest back, in equal parts to all."""
    adaptive = [(labels, times) for labels, times in users if len(labels) <= rerouting.most_items]
    even: dict[str, Decimal] = {}
    for labels, times in adaptive:
        for label in labels:
            even[label] = even.get(label, NONE) + times * _units(UNIT / Decimal(len(labels)))
    part = {label: max(NONE, 1 - rerouting.enough / weight) for label, weight in even.items()}
    weights = dict(full_weights(users))
    for label, weight in even.items():
        weights[label] -= weight * part[label]
    for labels, times in adaptive:
        got = sum((part[label] for label in labels), NONE) * _units(UNIT / Decimal(len(labels)))
        for label in labels:
            weights[label] += times * got / spread
    return {label: _units(weight) for label, weight in weights.items()}


def _units(weight: Decimal) -> Decimal:
    return weight.to_integral_value(decimal.ROUND_FLOOR)


def without(crowd: Crowd, released: Iterable[str]) -> Crowd:
    """Return the crowd with some labels taken from everybody."""
    left: Counter[str] = Counter()
    for labels, times in crowd.items():
        left["".join(label for label in labels if label not in set(released))] += times
    return left


def in_order(parts: Iterable[tuple[Any, ...]]) -> tuple[str, ...]:
    """Put labels in the order in which they are released."""
    return tuple(sorted(label for part in parts for label in part))
