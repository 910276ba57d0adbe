"""A ranked top k in two steps: which labels there are, then a ranking of them. The proof is in then_rank.md.

Once labels are released they are a list that everybody knows. So the ranking needs no ⊥ and no threshold: it draws
from the labels themselves, by their counts over all users, without a bound on how many items a user holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import add_noise
from unlisted.counts.weight_oracle import WeightOracle
from unlisted.counts.weights import Weighing
from unlisted.mechanisms.mechanism import Accuracy, Answer, Description, Interval, Mechanism, Weights
from unlisted.mechanisms.partition_selection.rounds import LabelSelection, shares_of
from unlisted.mechanisms.partition_selection.rounds_for_budget import labels_for_budget
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.accounting import GAUSSIAN
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_range_up
from unlisted.noise.gumbel import first_in_race
from unlisted.noise.intervals import plain
from unlisted.noise.law import Law
from unlisted.noise.on_counts import noise_mu_squared, noise_price
from unlisted.privacy.accounting import ZCDP
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import positive, whole
from unlisted.privacy.rounding import round_down, round_up
from unlisted.privacy.sensitivity import Sensitivity

LABELS_SHARE = Fraction(1, 2)
"""The part of ρ that finds the labels. `bench/utility/top_methods.py` compares others."""

_COUNTS_SHARE = Fraction(1, 2)
_DIGITS = 9


@dataclass(frozen=True)
class LabelRanking(Mechanism[WeightOracle]):
    """Release labels, and rank k of them by the number of users who have them, plus Gumbel noise.

    Guarantees: (ρ, δ) of `guarantee()`, and for each answer what it `spent`: fewer labels than k, fewer draws. Of
    the labels only those ranked come out. With `counts_law`, their counts follow with fresh noise.
    """

    notation: ClassVar = Notation("LabelRanking", ("selection", "k", "epsilon", "counts_law"))
    ranks: ClassVar = True
    pays_by_draw: ClassVar = True
    complete: ClassVar = None
    counts_are_bounded: ClassVar = False

    selection: LabelSelection
    k: int
    epsilon: Fraction
    counts_law: Law | None = None

    def __post_init__(self) -> None:
        whole("k", self.k)
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))

    @classmethod
    def for_budget(
        cls, budget: Budget, weighing: Weighing, k: int, *, counts: bool = False
    ) -> Calibrated[LabelRanking]:
        """Return the ranking inside a budget: a part of ρ or μ² finds the labels, the rest draws among them.

        δ is halved between the labels' threshold and the conversion to ε; no share does noticeably better.
        """
        accounting, delta = budget.accounting, budget.delta
        if budget.epsilon is not None:
            delta = budget.delta / 2
            loss = accounting.loss_down(budget.epsilon, delta)
        elif budget.rho is not None:
            accounting, loss = ZCDP, budget.rho
        else:
            accounting, loss = GAUSSIAN, budget.mu_squared or Fraction(0)
        part = Budget.of_loss(accounting, loss * LABELS_SHARE, delta)
        labels = labels_for_budget(part, weighing, "weighted")
        left = loss * (1 - LABELS_SHARE)
        law = None
        if counts:
            law = DiscreteGaussian(round_up(accounting.variance_up(k, k, left * _COUNTS_SHARE), _DIGITS))
            left *= 1 - _COUNTS_SHARE
        sides = 1 if weighing.adjacency == "add_remove" else 2
        epsilon = round_down(accounting.range_down(left / k) / sides, _DIGITS)
        reason = f"a {float(LABELS_SHARE):.0%} share of {accounting.symbol} for the labels, {labels.reason}"
        return Calibrated(cls(labels.mechanism, k, epsilon, law), reason)

    def needs(self) -> Weights:
        """Return that labels are to be weighed."""
        return Weights()

    def protects(self) -> Sensitivity:
        """Return who is protected: a user with any number of items, for the counts are of all of them."""
        return Sensitivity(None, 1, self.selection.last.weighing.adjacency)

    @property
    def _sides(self) -> int:
        return self.protects().sides

    def draw_price(self) -> Guarantee:
        """Return the cost of one draw: an exponential mechanism of range ε (2ε for replace)."""
        bounded_range = self._sides * self.epsilon
        return Guarantee(bounded_range**2 / 8, Fraction(0), EpsilonDelta(bounded_range, Fraction(0)))

    def counts_price(self) -> Guarantee:
        """Return what the winners' counts cost, if they are released: a user may be in all of them."""
        return Guarantee.nothing() if self.counts_law is None else noise_price(self.counts_law, self.k, 1)

    def mu_squared(self, draws: int | None = None) -> Fraction | None:
        """Return the μ² of labels, of so many draws or of all, and of the winners' counts."""
        law = self.counts_law
        counts = Fraction(0) if law is None else noise_mu_squared(law, self.k, 1)
        drawn = self.k if draws is None else draws
        each = mu_squared_of_range_up(self._sides * self.epsilon)
        return None if counts is None else self.selection.mu_squared() + drawn * each + counts

    def guarantee(self) -> Guarantee:
        """Return the ceiling: all draws made."""
        return self._cost_of(self.k)

    def _cost_of(self, draws: int) -> Guarantee:
        return self.selection.guarantee() + draws * self.draw_price() + self.counts_price()

    def release(self, oracle: WeightOracle, bits: Bits | None = None) -> Answer:
        """Find the labels, then draw among them; `stopped` says that there were fewer than k."""
        bits = bits or fresh_bits()
        self.selection.draw(oracle, bits)
        counts = oracle.counts_of_taken()
        order, _ = first_in_race(counts.counts, None, self.epsilon, self.k, bits)
        noisy = None
        if self.counts_law is not None:
            noisy = add_noise(counts.counts[order], self.counts_law.sample(len(order), bits))
        labels = label_rules.take(counts.labels, order)
        draws = len(order)
        return Answer(labels, noisy, self._cost_of(draws), stopped=draws < self.k, draws=draws)

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be: whether a label is found, and how far off its count is."""
        wide = None if self.counts_law is None else self.counts_law.half_width()
        return replace(self.selection.accuracy(), half_width=wide)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the winners' counts of all users, whose noise had no part in the ranking."""
        if answer.counts is None or self.counts_law is None:
            return None
        return plain(self.counts_law, answer.counts)

    def describe(self) -> Description:
        """Return its name, the threshold of the labels, and the noise and shares of labels, ranking and counts."""
        found = self.selection.describe()
        parts = {"labels": self.selection.guarantee().rho, "ranking": self.k * self.draw_price().rho}
        parts |= {} if self.counts_law is None else {"counts": self.counts_price().rho}
        noise = f"{found.noise}; Gumbel, scale {float(1 / self.epsilon):.6g}"
        return replace(
            found,
            name="label_ranking",
            title=f"labels first, then a ranking of them; {found.title}",
            noise=noise if self.counts_law is None else f"{noise}; counts: {self.counts_law}",
            parameters={"k": self.k},
            shares=shares_of(parts),
        )
