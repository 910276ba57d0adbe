"""From a budget to a selection of labels: the lowest threshold of the last round, and the noise that allows it.

δ has two uses: what escapes over the threshold, and what the noise leaves of ε (its own δ at ε, or a conversion
from ρ). More noise leaves more of δ for the threshold, and raises it by itself; the best amount is searched in
floating point. What is found is then proved, with the threshold raised by a hair where it does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

from unlisted.counts.weights import HEAVIEST, UNIT, Rerouting, Weighing
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Mechanism
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.mechanisms.partition_selection.rounds import LabelSelection
from unlisted.noise.gaussian.normal import normal_about, normal_delta_about
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.privacy.rounding import round_up
from unlisted.privacy.search import lowest_point

Proved = TypeVar("Proved", bound=Mechanism[Any])

Method = Literal["weighted", "sips", "adaptive", "hints"]

ROUNDS: dict[Method, tuple[Fraction, ...]] = {
    "weighted": (Fraction(1),),
    "adaptive": (Fraction(1),),
    "sips": (Fraction(2, 100), Fraction(10, 100), Fraction(88, 100)),
    "hints": (Fraction(2, 100), Fraction(20, 100), Fraction(78, 100)),
}
"""The parts of ρ, and of δ, that the rounds of each method get. `bench/utility/labels.py` compares others."""

_AMOUNTS = ("epsilon", "rho", "mu_squared")

HINTED_ROUND = 1
"""With hints, the round, from 0, that gives them. The first is too noisy to say what is light."""

HINT = Fraction(3, 2)
"""A label that is not above so many standard deviations of that round is left out of later ones."""

MOST_GIVEN_BACK = 20
"""Users of at most so many items get weight back: with more, too little would come to each of them."""

ENOUGH = 2
"""A label keeps so many standard deviations more than the threshold."""

_DIGITS = 7
_HAIR = Fraction(1, 10**6)
_HAIRS = 16
_PARTS = 64
_STEPS = 32
_NEWTON = 6
_SMALLEST_DELTA = Fraction(1, 10**290)


def labels_for_budget(
    budget: Budget, weighing: Weighing, method: Method, *, one_shot: bool = True
) -> Calibrated[LabelSelection]:
    """Return the selection with the lowest threshold inside a budget, and why it is this one.

    A budget in (ε, δ) that is spent at once needs no way through ρ; one paid from an account, which counts ρ,
    should say `one_shot=False`.
    """
    if method not in ROUNDS:
        raise InvalidArgumentError(
            "method", method, "'auto', 'counts', " + ", ".join(f"'{one}'" for one in ROUNDS)
        )
    require_delta(budget)
    search, at_epsilon = RoundsSearch(budget, weighing, method, one_shot), budget.epsilon if one_shot else None
    selection = search.proved(search.best_exponent(), lambda rounds, _: replace(rounds, at_epsilon=at_epsilon))
    way = "by its exact δ" if one_shot and budget.epsilon is not None else search.way
    shown = f"{float(round_up(Fraction(selection.last.threshold, UNIT), 6)):.6g}"
    rounds = f" in the last of {len(selection.rounds)} rounds" if len(selection.rounds) > 1 else ""
    return Calibrated(selection, f"threshold {shown}{rounds}, {way}")


def require_delta(budget: Budget) -> None:
    """Refuse a δ that no threshold can be found for."""
    if budget.delta < _SMALLEST_DELTA:
        raise InvalidArgumentError("delta", float(budget.delta), "1e-290 or above, for labels alone")


@dataclass(frozen=True)
class RoundsSearch:
    """Selections of one method, as a function of the exponent of the noise's variance, over all rounds.

    `labels_share` is the part of ρ that all rounds together get, where something else follows.
    """

    budget: Budget
    weighing: Weighing
    method: Method
    one_shot: bool
    labels_share: Fraction = Fraction(1)

    @property
    def way(self) -> str:
        """By what the noise was found, unless it was by an exact δ."""
        if self.budget.epsilon is not None:
            return f"by {self.budget.accounting.symbol} converted"
        return "by ρ" if self.budget.rho is not None else "by μ²"

    @property
    def _shares(self) -> Sequence[Fraction]:
        return ROUNDS[self.method]

    def best_exponent(self) -> float:
        """Return about the exponent of two of the variance with the lowest last threshold."""
        if self.budget.rho is not None:
            return math.log2(self._reach_squared / (2 * self.budget.rho))
        if self.budget.mu_squared is not None:
            return math.log2(self._reach_squared / self.budget.mu_squared)
        low = self._least_exponent()
        return lowest_point(lambda y: self._thresholds(y)[-1], low, low + 2, _STEPS)

    def proved(self, exponent: float, build: Callable[[LabelSelection, Fraction], Proved]) -> Proved:
        """Return the mechanism with about this noise whose guarantee is inside the budget.

        `build` makes it of the labels' rounds and of the variance that noise on everything would have.
        """
        thresholds, hair = self._thresholds(exponent), _HAIR
        # Without room for a single label to escape there is no threshold that would be high enough.
        attempts = _HAIRS if math.isfinite(max(thresholds)) else 0
        for _ in range(attempts):
            if self.budget.mu_squared is not None:
                # Whole-number noise has a little more μ² than normal noise of its variance.
                exponent, thresholds = exponent + float(hair), self._thresholds(exponent + float(hair))
            selection = self._built(exponent, [Fraction(one) * (1 + hair) for one in thresholds])
            found = build(selection, Fraction(2.0**exponent))
            if self.budget.allows(self._guaranteed(found)):
                return found
            hair *= 3
        raise InvalidArgumentError("budget", "this one", "one whose noise can be found: a larger ε, ρ or δ")

    def _guaranteed(self, found: Mechanism[Any]) -> Guarantee:
        """Return the full guarantee, or say in the budget's own words that too little noise is left for one."""
        try:
            return found.full_guarantee()
        except InvalidArgumentError as refused:
            if refused.argument != "variance":
                raise
            name = next(one for one in _AMOUNTS if getattr(self.budget, one) is not None)
            allowed = "small enough to leave noise that a guarantee can be proved for"
            hint = "So large a budget protects hardly anybody: ask for less, or bound users with items_per_user."
            raise InvalidArgumentError(name, getattr(self.budget, name), allowed, hint) from None

    def _built(self, exponent: float, thresholds: Sequence[Fraction]) -> LabelSelection:
        variance = 2.0**exponent
        rounds = []
        for number, (share, threshold) in enumerate(zip(self._shares, thresholds, strict=True)):
            noise = round_up(Fraction(variance) / (share * self.labels_share), _DIGITS)
            units = max(math.ceil(threshold * UNIT), self.weighing.alone(1))
            rounds.append(LabelRound(self._weighing(units, float(noise)), noise, units, self._hint(number, noise)))
        return LabelSelection(tuple(rounds))

    def _hint(self, number: int, noise: Fraction) -> int | None:
        if self.method != "hints" or number != HINTED_ROUND:
            return None
        return math.ceil(HINT * Fraction(math.sqrt(noise)) * UNIT)

    def _weighing(self, threshold: int, variance: float) -> Weighing:
        if self.method != "adaptive":
            return self.weighing
        # With next to no budget no label ever has enough; then none gives anything back.
        enough = min(threshold + math.ceil(ENOUGH * math.sqrt(variance) * UNIT), HEAVIEST - 1)
        return Weighing(self.weighing.items, Rerouting(enough, self._given_back), self.weighing.adjacency)

    @property
    def _given_back(self) -> int:
        return min(MOST_GIVEN_BACK, self.weighing.items)

    @property
    def _reach_squared(self) -> Fraction:
        """The most by which one user moves weights, squared, a lone item being 1."""
        return Fraction(self._weighing(UNIT, 1.0).reach_squared, UNIT**2)

    def _least_exponent(self) -> float:
        """Return about the least noise that leaves some of δ for the threshold."""
        low, high = -20.0, 60.0
        while high - low > 2**-20:
            middle = (low + high) / 2
            low, high = (low, middle) if self._room(middle) > 0 else (middle, high)
        return high

    def _room(self, exponent: float) -> float:
        """Return about how much of δ is left for labels to escape."""
        delta, moved = float(self.budget.delta), float(self._reach_squared) / 2.0**exponent
        if self.budget.epsilon is None:
            return delta
        epsilon = float(self.budget.epsilon)
        if not self.one_shot:
            return delta - self._converted(moved)
        if len(self._shares) > 1 or self.weighing.adjacency == "replace":
            return delta - normal_delta_about(moved, epsilon)
        # A part of a user's labels is new and the rest moves. The whole part is free of the last step's slack.
        parts = ((part + 1) / _PARTS for part in range(_PARTS))
        return min((delta - normal_delta_about(moved * (1 - part + 1 / _PARTS), epsilon)) / part for part in parts)

    def _converted(self, moved: float) -> float:
        """Return about the δ that is left of a μ² at ε, by the conversion of the account that will pay."""
        rho = Guarantee(Fraction(moved) / 2, Fraction(0), mu_squared=Fraction(moved))
        accounting = self.budget.accounting
        return float(accounting.delta_up(accounting.charge(rho)[0], self.budget.epsilon or Fraction(0)))

    def _thresholds(self, exponent: float) -> list[float]:
        """Return about the lowest threshold of each round."""
        # With hints, what is not there can escape as well (`LabelSelection.failure`).
        hidden = 2 if self.method == "hints" and self.weighing.adjacency == "replace" else 1
        room, part = self._room(exponent) / hidden, self.labels_share
        return [
            _lowest_threshold(self._alone, math.sqrt(2.0**exponent / float(share * part)), room * float(share))
            for share in self._shares
        ]

    @property
    def _alone(self) -> list[tuple[int, float]]:
        """Return some numbers of items, and what each item weighs at most that nobody else has."""
        weighing, most = self._weighing(UNIT, 1.0), self.weighing.items
        steps = {*range(1, min(most, 8) + 1), most, *(round(most ** (k / 40)) for k in range(40))}
        return [(items, weighing.alone(items) / UNIT) for items in sorted(steps)]


def _lowest_threshold(alone: Sequence[tuple[int, float]], deviation: float, room: float) -> float:
    """Return about the lowest threshold over which no label of a lone user escapes too often."""
    if room <= 0:
        return math.inf
    return max(weight + deviation * _quantile(-math.expm1(math.log1p(-room) / items)) for items, weight in alone)


def _quantile(chance: float) -> float:
    """Return about the x with Q(x) = chance, 0 at the least.

    By Newton on log Q, which is concave: from the right of it, where e^(-x²/2) = chance, every step stays there.
    """
    if chance >= 1 / 2:
        return 0.0
    x = math.sqrt(-2 * math.log(chance))
    for _ in range(_NEWTON):
        tail, density = normal_about(x), math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        x += math.log(tail / chance) * tail / density
    return max(0.0, x)
