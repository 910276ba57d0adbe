"""The labels that enough users share, and nothing else about them. The proof is in rounds.md.

One look with all of the budget, or several of which each leaves out what the ones before released (DP-SIPS): the
common labels are found with little, and their users' weight then goes to the labels that are still in doubt. A
round may also give hints: labels that it finds too light are left out of later ones. That costs nothing more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import UNIT, full_weight
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Accuracy, Answer, Chance, Description, Mechanism, Weights, all_needed
from unlisted.mechanisms.partition_selection.one_round import LabelRound
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.normal import normal_delta_up
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import EpsilonDelta, Guarantee
from unlisted.privacy.rounding import log_down, log_up
from unlisted.privacy.search import worst_case_up
from unlisted.privacy.sensitivity import Sensitivity

_PARTS = 256
"""How finely the part of a user's labels that is new is looked at."""


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
            raise InvalidArgumentError("rounds", len(self.rounds), "one round where weight is given back")
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

    def escape(self) -> Fraction:
        """Bound from above the chance that a label which only one user has is released in any round."""
        # With hints, labels that nobody has must stay hidden as well, those of whoever is not there (replace).
        times = self.protects().sides if self.gives_hints else 1
        return min(Fraction(1), times * sum((one.escape for one in self.rounds), Fraction(0)))

    @property
    def gives_hints(self) -> bool:
        """Whether some round says which labels are left out of later ones."""
        return any(one.hint is not None for one in self.rounds)

    def delta_at(self, epsilon: Fraction) -> Fraction:
        """Bound from above the δ of the whole at ε."""
        escape = self.escape()
        if escape == 1:
            return Fraction(1)
        lowered = epsilon + log_down(1 - escape)
        if len(self.rounds) > 1:
            moved = sum((one.mu_squared for one in self.rounds), Fraction(0))
            return min(Fraction(1), escape + normal_delta_up(moved, lowered))
        # Of a user's labels a part is new, and the rest moves: the worst part, not the sum of two worst cases.
        all_new = log_up(1 / (1 - escape))

        def bound(least: int, most: int) -> Fraction:
            moved = self.last.mu_squared_beside(Fraction(least, _PARTS))
            return Fraction(most + 1, _PARTS) * all_new + normal_delta_up(moved, lowered)

        return min(Fraction(1), worst_case_up(0, _PARTS - 1, bound))

    def guarantee(self) -> Guarantee:
        """Return the ceiling of what a release costs; it is also what each one costs."""
        return self._guarantee

    @cached_property
    def _guarantee(self) -> Guarantee:
        rho = sum((one.mu_squared for one in self.rounds), Fraction(0)) / 2
        promised = Guarantee(rho, self.escape())
        if self.at_epsilon is None:
            return promised
        return replace(promised, direct=EpsilonDelta(self.at_epsilon, self.delta_at(self.at_epsilon)))

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
        """Return how good the answer will be, for users of as many items as allowed and for users of one."""
        chance = self.chance_of_users(self.last.weighing.items)
        return Accuracy(
            all_needed(chance), None, above_cut=False, chance=chance, at_best=all_needed(self.chance_of_users(1))
        )

    def describe(self) -> Description:
        """Return its name, the threshold of the last round, and the noise."""
        name, title = "weighted_labels", "weighted labels"
        if len(self.rounds) > 1:
            name, title = "label_rounds", f"weighted labels in {len(self.rounds)} rounds (DP-SIPS)"
            if self.gives_hints:
                name, title = "hinted_label_rounds", f"weighted labels in {len(self.rounds)} rounds, with hints"
        elif self.last.weighing.rerouting is not None:
            name, title = "adaptive_labels", "weighted labels, weight given back (MaxAdaptiveDegree)"
        noise = f"normal on weights, scale {math.sqrt(self.last.variance):.6g}"
        return Description(name, title, Fraction(self.last.threshold, UNIT), noise)
