"""Algorithm 4: many top-k questions on one budget, each charged for what it returned.

The proof is in pay_what_you_get.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.mechanism import Answer
from unlisted.mechanisms.top_k import TopK
from unlisted.noise.bits import Bits
from unlisted.privacy.filter import Filter
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.numbers import Number, failure_probability, positive, whole
from unlisted.privacy.sensitivity import Adjacency


@dataclass(frozen=True)
class PayWhatYouGet:
    """A total (ρ, δ) for questions whose ε, k, k̄ and δ may all depend on earlier answers.

    Guarantees: all answers together are within the total, however they were chosen. A question reserves its
    ceiling before anything is drawn; afterwards the draws it did not make come back. ⊥ is a draw; δ never comes
    back; a question that fails after its reservation keeps it.

    Args:
        total: all that may be spent.
        adjacency: "add_remove" or "replace".

    Examples:
        >>> budget = ul.PayWhatYouGet.of(results=10, questions=2, epsilon="0.5", delta=1e-8)
        >>> budget.left.rho
        Fraction(5, 16)

    Theorem: Algorithm 4 of the survey, a privacy filter (`mechanisms/pay_what_you_get.md`).
    """

    total: Guarantee
    adjacency: Adjacency = "add_remove"
    budget: Filter = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", Filter(self.total))

    @classmethod
    def of(cls, *, results: int, questions: int, epsilon: Number, delta: Number) -> PayWhatYouGet:
        """Say the budget as the survey does: so many results and so many questions, at an ε and a δ each.

        Args:
            results: how many results may be drawn in all (k*).
            questions: how many questions may be asked (ℓ*).
            epsilon: the ε of each draw.
            delta: the δ of each question.
        """
        rho = whole("results", results) * positive("epsilon", epsilon) ** 2 / 8
        failures = whole("questions", questions) * failure_probability("delta", delta)
        return cls(Guarantee(rho, min(Fraction(1), failures)))

    def guarantee(self) -> Guarantee:
        """Return the ceiling for all questions together: ρ and δ, which are what the filter adds up.

        No comparison would keep an (ε, δ) beside the total: many small draws fit into a ρ whose ε they exceed.
        """
        return self.budget.total

    @property
    def left(self) -> Guarantee:
        """What the next question may still cost."""
        return self.budget.left

    def release(self, question: TopK, counts: BoundedCounts, bits: Bits | None = None) -> Answer:
        """Answer one question, or refuse it at no cost because it might not fit.

        Args:
            question: the ranking that is asked for.
            counts: the counts to rank.
            bits: randomness for tests; otherwise a fresh key is used.
        """
        asked = question.ranking.sensitivity.adjacency
        if asked != self.adjacency:
            # Prices for different neighbours add up to a promise for neither.
            raise InvalidArgumentError("adjacency", asked, f"'{self.adjacency}', which the budget is for")
        reserved = self.budget.reserve(question.guarantee())
        answer = question.release(counts, bits)
        self.budget.settle(reserved, answer.spent)
        return answer
