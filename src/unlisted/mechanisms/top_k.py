"""Algorithm 3: a ranked top k by Gumbel noise, ⊥ standing for everything unlisted. The proof is in top_k.md."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unlisted.counts import labels as label_rules
from unlisted.counts.bounded_counts import BoundedCounts, Largest, Ties, add_noise
from unlisted.counts.count_profile import CountProfile
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.mechanisms.mechanism import (
    Accuracy,
    AllCounts,
    Answer,
    Description,
    Interval,
    LargestCounts,
    Mechanism,
    ResultPrice,
    all_needed,
)
from unlisted.mechanisms.top_histogram import entering
from unlisted.noise.bits import Bits, fresh_bits
from unlisted.noise.gaussian.accounting import GAUSSIAN
from unlisted.noise.gaussian.discrete_gaussian import DiscreteGaussian
from unlisted.noise.gaussian.gaussian_dp import mu_squared_of_range_up
from unlisted.noise.gumbel import first_in_race
from unlisted.noise.intervals import plain
from unlisted.noise.law import Law
from unlisted.noise.on_counts import noise_mu_squared, noise_price, with_failure
from unlisted.privacy.accounting import ZCDP, Accounting
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.encoding import Notation
from unlisted.privacy.guarantee import Budget, EpsilonDelta, Guarantee
from unlisted.privacy.numbers import Number, exact, failure_probability, positive, whole
from unlisted.privacy.rounding import exp_down, log_up, round_down, round_up
from unlisted.privacy.search import lowest_point
from unlisted.privacy.sensitivity import Sensitivity

_THRESHOLD_DIGITS = 12
_SHORT_DIGITS = 9


@dataclass(frozen=True)
class Ranking:
    """The shape of a top-k question: how many results, read from how many counts, of whom.

    `fetched` is k̄, a public number; None ranks the whole histogram, which needs a bound on items per user.

    Args:
        k: how many labels are wanted.
        fetched: k̄, how many of the largest counts are read.
        sensitivity: what one user can change.
        ties: how equal counts were cut off.

    Examples:
        >>> ul.Ranking(k=10, fetched=1000, sensitivity=ul.Sensitivity(None)).k
        10
    """

    notation: ClassVar = Notation("Ranking", ("k", "fetched", "sensitivity", "ties"))

    k: int
    fetched: int | None
    sensitivity: Sensitivity
    ties: Ties = "label"

    def __post_init__(self) -> None:
        whole("k", self.k)
        if self.fetched is not None:
            whole("fetched", self.fetched)
        if self.ties not in ("label", "unknown"):
            raise InvalidArgumentError("ties", self.ties, "'label' or 'unknown'")
        entering(self.sensitivity, self.fetched, self.ties)

    @property
    def most_draws(self) -> int:
        """The most draws a ranking makes: k labels, or all k̄ and then ⊥."""
        return self.k if self.fetched is None else min(self.k, self.fetched + 1)

    @property
    def entering(self) -> int:
        """How many labels can enter or leave what is ranked between neighbours."""
        return entering(self.sensitivity, self.fetched, self.ties)


@dataclass(frozen=True)
class TopK(Mechanism[BoundedCounts | CountProfile]):
    """Rank labels by count plus Gumbel noise; stop after k of them, or when ⊥ comes up.

    Guarantees: (ρ, δ) of `guarantee()`, and for each answer what it `spent`. Only the order is released: no
    scores, no gaps, no noisy threshold. With `counts_law`, the winners' counts follow with fresh noise at their
    own price. Edge cases: k above the number of labels ends in ⊥; no labels at all is a ranking of length 0.

    Args:
        epsilon: ε of one draw.
        threshold: how far ⊥ stands above the first count that was left out.
        ranking: the shape of the question.
        counts_law: the noise on the winners' counts, if these are released too.

    Examples:
        >>> ranking = ul.Ranking(k=10, fetched=1000, sensitivity=ul.Sensitivity(None))
        >>> ul.TopK.at(ranking, epsilon="0.1", delta=1e-9).draw_price().rho
        Fraction(1, 800)

    Theorem: Algorithm 3 of the survey; a draw has bounded range and costs ε²/8 of ρ (`mechanisms/top_k.md`).
    """

    notation: ClassVar = Notation("TopK", ("epsilon", "threshold", "ranking", "counts_law"))
    ranks: ClassVar = True
    pays_by_draw: ClassVar = True
    complete: ClassVar = None

    epsilon: Fraction
    threshold: Fraction
    ranking: Ranking
    counts_law: Law | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive("epsilon", self.epsilon))
        object.__setattr__(self, "threshold", exact("threshold", self.threshold))
        if self.threshold < self._lowest_threshold:
            raise InvalidArgumentError("threshold", self.threshold, f"{self._lowest_threshold} or above")

    @classmethod
    def at(cls, ranking: Ranking, *, epsilon: Number, delta: Number, counts_law: Law | None = None) -> TopK:
        """Return the ranking whose every draw costs ε and whose whole failure probability is at most δ.

        Args:
            ranking: how many places, of how many counts, and how much one user can change.
            epsilon: the ε of one draw.
            delta: the probability of failure of the whole ranking.
            counts_law: noise for the counts of what is drawn; None to release the order alone.
        """
        eps, d = positive("epsilon", epsilon), failure_probability("delta", delta)
        sensitivity = ranking.sensitivity
        odds = log_up(ranking.entering * (1 - d) / d)
        threshold = sensitivity.sides * sensitivity.count + max(Fraction(0), sensitivity.count * odds / eps)
        return cls(eps, round_up(threshold, _THRESHOLD_DIGITS), ranking, counts_law)

    @classmethod
    def for_budget(
        cls, budget: Budget, ranking: Ranking, *, counts: bool = False, counts_share: Number = Fraction(1, 2)
    ) -> Calibrated[TopK]:
        """Return the ranking with the lowest threshold for ⊥ inside a budget, and why it is this one.

        Two ways. *Added up*: each of the k draws gets ε/k and the whole δ goes to the threshold. *Converted*:
        draws cost ε₀²/8 of ρ each, and δ is shared between the threshold and the conversion of ρ to ε; the best
        share is searched. With counts, a share of ρ goes to their noise, and only the second way is open.

        Args:
            budget: what the release may cost.
            ranking: how many places, of how many counts, and how much one user can change.
            counts: whether counts are released too.
            counts_share: the part of ρ that their noise gets.
        """
        share = exact("counts_share", counts_share)
        if not 0 < share < 1:
            raise InvalidArgumentError("counts_share", counts_share, "above 0 and below 1")
        ways = _ways(budget, ranking, share if counts else Fraction(0))
        (way, best), *others = sorted(ways, key=lambda named: named[1].threshold)
        reason = f"Draws {way} have the lowest threshold, {_said(best.threshold)}"
        against = ", ".join(f"{_said(one.threshold)} {other}" for other, one in others)
        return Calibrated(best, f"{reason}; against {against}." if against else f"{reason}.")

    @property
    def _lowest_threshold(self) -> int:
        return self.ranking.sensitivity.sides * self.ranking.sensitivity.count

    def needs(self) -> AllCounts | LargestCounts:
        """Return that the k̄ + 1 largest counts are needed, or all of them where no k̄ is set."""
        fetched = self.ranking.fetched
        return AllCounts(cut=int(self.threshold)) if fetched is None else LargestCounts(fetched)

    def protects(self) -> Sensitivity:
        """Return who is protected."""
        return self.ranking.sensitivity

    def draw_price(self) -> Guarantee:
        """Return the cost of one draw, a label or ⊥: an exponential mechanism of range ε (2ε for replace)."""
        bounded_range = self.ranking.sensitivity.sides * self.epsilon
        return Guarantee(bounded_range**2 / 8, Fraction(0), EpsilonDelta(bounded_range, Fraction(0)))

    def counts_price(self) -> Guarantee:
        """Return what the winners' counts cost, if they are released."""
        if self.counts_law is None:
            return Guarantee.nothing()
        moved = self.ranking.sensitivity.coordinates_within(self.ranking.k)
        return noise_price(self.counts_law, moved, self.ranking.sensitivity.count)

    def mu_squared(self, draws: int | None = None) -> Fraction | None:
        """Return the μ² of so many draws, or of all, and of the winners' counts."""
        law, sensitivity = self.counts_law, self.ranking.sensitivity
        moved = sensitivity.coordinates_within(self.ranking.k)
        counts = Fraction(0) if law is None else noise_mu_squared(law, moved, sensitivity.count)
        drawn = self.ranking.most_draws if draws is None else draws
        each = mu_squared_of_range_up(sensitivity.sides * self.epsilon)
        return None if counts is None else drawn * each + counts

    def failure(self) -> Fraction:
        """Bound from above the chance that a label only one neighbour ranks comes before ⊥."""
        odds = exp_down(self.epsilon * (self.threshold - self._lowest_threshold) / self.ranking.sensitivity.count)
        return round_up(self.ranking.entering / (self.ranking.entering + odds))

    def guarantee(self) -> Guarantee:
        """Return the ceiling: all draws made, and ⊥ charged like a label."""
        return self._cost_of(self.ranking.most_draws)

    def _cost_of(self, draws: int) -> Guarantee:
        return with_failure(draws * self.draw_price() + self.counts_price(), self.failure())

    def release(self, counts: BoundedCounts | CountProfile, bits: Bits | None = None) -> Answer:
        """Rank, and say how many draws it took."""
        bits = bits or fresh_bits()
        top = self._ranked(counts)
        rate, bottom = self.epsilon / self.ranking.sensitivity.count, top.bottom + self.threshold
        order, stopped = first_in_race(top.counts, bottom, rate, self.ranking.k, bits, top.times)
        labels, counted = top.at(order)
        noisy = None
        if self.counts_law is not None:
            noisy = add_noise(counted, self.counts_law.sample(len(order), bits))
        draws = len(order) + stopped
        return Answer(labels, noisy, self._cost_of(draws), stopped, draws=draws)

    def chance(self, count: int) -> float:
        """Return about the probability that a label comes before ⊥ whose count is so far above ⊥'s."""
        rate = float(self.epsilon) / self.ranking.sensitivity.count
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, rate * (count - float(self.threshold))))))

    def accuracy(self) -> Accuracy:
        """Return how good the answer will be, for a single label and nobody else near the top."""
        wide = None if self.counts_law is None else self.counts_law.half_width()
        above_cut = self.ranking.fetched is not None
        return Accuracy(all_needed(self.chance), wide, above_cut=above_cut, chance=self.chance)

    def intervals(self, answer: Answer) -> Interval | None:
        """Return intervals of the winners' bounded counts, whose noise had no part in the ranking."""
        if answer.counts is None or self.counts_law is None:
            return None
        return plain(self.counts_law, answer.counts)

    def result_price(self) -> ResultPrice:
        """Return what one result costs."""
        each = mu_squared_of_range_up(self.ranking.sensitivity.sides * self.epsilon)
        return ResultPrice(replace(self.draw_price(), mu_squared=each), self.epsilon)

    def describe(self) -> Description:
        """Return its name, threshold and noise."""
        noise = f"Gumbel, scale {float(self.ranking.sensitivity.count / self.epsilon):.6g}"
        return Description(
            "top_k",
            "ranked top k (Algorithm 3)",
            self.threshold,
            noise if self.counts_law is None else f"{noise}; counts: {self.counts_law}",
            {"k": self.ranking.k, "fetch": self.ranking.fetched or "all"},
        )

    def _ranked(self, counts: BoundedCounts | CountProfile) -> _Ranked:
        ranking = self.ranking
        listed = counts.large if isinstance(counts, CountProfile) else counts
        listed.require(ranking.sensitivity, listed.minimum_count)
        if isinstance(counts, CountProfile):
            if ranking.fetched is not None or counts.fetched is not None:
                raise InvalidCountsError("Only a ranking of the whole histogram is read from a profile of it.")
            return _Ranked(*counts.in_a_row(), listed.floor, counts.at)
        if counts.ties == "unknown" and ranking.ties == "label" and ranking.fetched is not None:
            raise InvalidCountsError("Ties were broken in an unknown way; ask with ties='unknown'.")
        if ranking.fetched is not None:
            return _listed(counts.largest(ranking.fetched))
        if counts.fetched is not None:
            raise InvalidCountsError("Ranking the whole histogram needs all counts; say how many were fetched.")
        return _listed(Largest(counts.labels, counts.counts, counts.floor))


class _Ranked(NamedTuple):
    """What is ranked: counts, how many labels have each (one if None), what ⊥ has, and who is at a position."""

    counts: NDArray[np.int64]
    times: NDArray[np.int64] | None
    bottom: int
    at: Callable[[NDArray[np.int64]], tuple[pa.Array, NDArray[np.int64]]]


def _listed(top: Largest) -> _Ranked:
    """Rank labels that are listed one by one."""
    return _Ranked(
        top.counts, None, top.bottom, lambda order: (label_rules.take(top.labels, order), top.counts[order])
    )


def _ways(budget: Budget, ranking: Ranking, share: Fraction) -> Iterable[tuple[str, TopK]]:
    if budget.rho is not None:
        yield "by ρ", _with_loss(ZCDP, budget.rho, budget.delta, ranking, share)
        return
    if budget.mu_squared is not None:
        yield "by μ²", _with_loss(GAUSSIAN, budget.mu_squared, budget.delta, ranking, share)
        return
    epsilon, accounting = budget.epsilon or Fraction(0), budget.accounting
    if share == 0 and accounting.adds_epsilon:
        each = epsilon / (ranking.most_draws * ranking.sensitivity.sides)
        yield "by ε added up", TopK.at(ranking, epsilon=each, delta=budget.delta)

    def split(y: float) -> Fraction:
        return budget.delta * Fraction(1 / (1 + math.exp(-y))).limit_denominator(10**6)

    def threshold(y: float) -> float:
        conversion = split(y)
        loss = accounting.loss_down(epsilon, conversion)
        return float(_with_loss(accounting, loss, budget.delta - conversion, ranking, share).threshold)

    conversion = split(lowest_point(threshold, -4.0, 6.0, steps=18))
    loss = accounting.loss_down(epsilon, conversion)
    ranked = _with_loss(accounting, loss, budget.delta - conversion, ranking, share)
    yield f"by {accounting.symbol} converted", ranked


def _with_loss(accounting: Accounting, loss: Fraction, delta: Fraction, ranking: Ranking, share: Fraction) -> TopK:
    """Spend ρ or μ² on the draws, less the share that the winners' counts get."""
    sensitivity = ranking.sensitivity
    each = accounting.range_down(loss * (1 - share) / ranking.most_draws)
    epsilon = round_down(each / sensitivity.sides, _SHORT_DIGITS)
    law = None
    if share:
        moved = sensitivity.coordinates_within(ranking.k)
        variance = accounting.variance_up(moved * sensitivity.count**2, moved, loss * share)
        law = DiscreteGaussian(round_up(variance, _SHORT_DIGITS))
    return TopK.at(ranking, epsilon=epsilon, delta=delta, counts_law=law)


def _said(threshold: Fraction) -> str:
    """Write a threshold as a plan does, with six digits and never as lower than it is."""
    return f"{float(round_up(threshold, 6)):.6g}"
