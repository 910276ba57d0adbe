"""The labels that enough users share, and nothing else about them. The proof is in rounds.md.

One look with all of the budget, or several of which each leaves out what the ones before released (DP-SIPS): the
common labels are found with little, and their users' weight then goes to the labels that are still in doubt. A
round may also give hints: labels that it finds too light are left out of later ones. That costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import UNIT, full_weight
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import (
    Accuracy,
    Answer,
    Chance,
    Description,
    Mechanism,
    Weights,
    all_needed,
)
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.normal import normal_delta_up
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.rounding import log_down, log_up
from unlisted.privacy.search import worst_case_up
from unlisted.privacy.sensitivity import Sensitivity

_PARTS = 256
"""How finely the part of a user's labels that is new is looked at."""

SPOKEN_OF = (1, 10, 100)
"""Users of so many items are those that a plan speaks of."""


@dataclass(frozen=True)
class LabelSelection(Mechanism[WeightOracle]):
    """Release labels in rounds; none is released twice, and none that nobody has.

    Guarantees: (ρ, δ) of `guarantee()`, and with `at_epsilon` the δ of the whole at that ε. Rows come in the order
    of labels. Edge cases: no labels, no rows.
    """

    notation: ClassVar = Notation("LabelSelection", ("rounds", "at_epsilon"))

    rounds: tuple[LabelRound, ...]
    at_epsilon: Fraction | None = None

    def __post_init__(self) -> None:
        if not self.rounds:
            raise InvalidArgumentError("rounds", self.rounds, "one round or more")
        if len(self.rounds) > 1 and any(one.weighing.rerouting for one in self.rounds):
            raise InvalidArgumentError("rounds", len(self.rounds), "one round where weight is rerouted")
        if len({one.weighing.adjacency for one in self.rounds}) > 1:
            raise InvalidArgumentError("rounds", len(self.rounds), "rounds that all protect the same neighbours")
        if self.last.hint is not None:
            raise InvalidArgumentError("hint", self.last.hint, "left out of the last round: no round is after it")

    @property
    def last(self) -> LabelRound:
        """The round with the most of the budget, which decides about labels in doubt."""
        return self.rounds[-1]

    def needs(self) -> Weights:
        """Return that labels are to be weighed."""
        return Weights()

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return Sensitivity(self.last.weighing.items, 1, self.last.weighing.adjacency)

    def failure(self) -> Fraction:
        """Bound from above the chance that a label which only one user has is released in any round."""
        # With hints, labels that nobody has must stay hidden as well, those of whoever is not there (replace).
        times = self.protects().sides if self.gives_hints else 1
        return min(Fraction(1), times * sum((one.failure for one in self.rounds), Fraction(0)))

    @property
    def gives_hints(self) -> bool:
        """Whether some round says which labels are left out of later ones."""
        return any(one.hint is not None for one in self.rounds)

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ of the whole at ε."""
        failure = self.failure()
        if failure == 1:
            return Fraction(1)
        lowered = epsilon + log_down(1 - failure)
        if len(self.rounds) > 1:
            return min(Fraction(1), failure + normal_delta_up(self.mu_squared(), lowered))
        # Of a user's labels a part is new, and the rest moves: the worst part, not the sum of two worst cases.
        all_new = log_up(1 / (1 - failure))

        def bound(least: int, most: int) -> Fraction:
            moved = self.last.mu_squared_beside(Fraction(least, _PARTS))
            return Fraction(most + 1, _PARTS) * all_new + normal_delta_up(moved, lowered)

        return min(Fraction(1), worst_case_up(0, _PARTS - 1, bound))

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        promised = Guarantee(self.mu_squared() / 2, self.failure())
        if self.at_epsilon is None:
            return promised
        return replace(promised, direct=EpsilonDelta(self.at_epsilon, self.delta_at(self.at_epsilon)))

    def mu_squared(self, draws: int | None = None) -> Fraction:  # noqa: ARG002
        """Return how far one user moves the weights of all rounds, in standard deviations, squared."""
        return sum((one.mu_squared for one in self.rounds), Fraction(0))

    def draw(self, oracle: WeightOracle, bits: Bits) -> pa.Array:
        """Draw round by round, and leave out of each what came out before; the last is taken out too."""
        found = []
        for one in self.rounds:
            drawn = one.draw(oracle, bits)
            oracle.take_out(drawn.buckets, drawn.ranks)
            if drawn.in_play is not None:
                oracle.keep_in_play(*drawn.in_play)
            found.append(drawn.labels)
        return pa.concat_arrays(found)

    def release(self, oracle: WeightOracle, bits: Bits | None = None) -> Answer:
        """Release what was drawn, in the order of labels."""
        return Answer.of_labels(self.draw(oracle, bits or fresh_bits()), self.guarantee())

    def chance_of_users(self, items: int) -> Chance:
        """Return users -> the probability that their label is released, if each of them has so many items.

        The last round decides about labels in doubt, of those that hints left in play. What users gain in later
        rounds from items that are out of play is not counted.
        """
        weight = full_weight(items) / UNIT
        if not self.gives_hints:
            return lambda users: self.last.chance(users * weight)

        def chance(users: int) -> float:
            found, in_play = 0.0, 1.0
            for one in self.rounds:
                found += in_play * one.chance(users * weight)
                in_play *= one.chance_in_play(users * weight)
            return found

        return chance

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be, for users of as many items as allowed, of one, and in between."""
        most = self.last.weighing.items
        chance = self.chance_of_users(most)
        return Accuracy(
            all_needed(chance),
            None,
            above_cut=False,
            chance=chance,
            at_best=all_needed(self.chance_of_users(1)),
            between={n: all_needed(self.chance_of_users(n)) for n in SPOKEN_OF[1:] if n < most},
        )

    def parts_of_rho(self) -> dict[str, Fraction]:
        """Return what each round costs, by what a plan calls it."""
        return {f"round {place}": one.mu_squared / 2 for place, one in enumerate(self.rounds, 1)}

    def describe(self) -> Description:
        """Return its name, the threshold of the last round, the noise, and the rounds' shares of ρ."""
        name, title = "weighted_labels", "weighted labels"
        if len(self.rounds) > 1:
            name, title = "label_rounds", f"weighted labels in {len(self.rounds)} rounds (DP-SIPS)"
            if self.gives_hints:
                name, title = "hinted_label_rounds", f"weighted labels in {len(self.rounds)} rounds, with hints"
        elif self.last.weighing.rerouting is not None:
            name, title = "adaptive_labels", "weighted labels, weight given back (MaxAdaptiveDegree)"
        noise = f"normal on weights, scale {math.sqrt(self.last.variance):.6g}"
        shares = shares_of(self.parts_of_rho())
        return Description(name, title, Fraction(self.last.threshold, UNIT), noise, shares=shares)


def shares_of(parts: Mapping[str, Fraction]) -> dict[str, float]:
    """Return the part of the whole that each step gets, for display; of a single step there is nothing to say."""
    total = sum(parts.values(), Fraction(0))
    return {name: round(float(part / total), 4) for name, part in parts.items()} if len(parts) > 1 else {}
