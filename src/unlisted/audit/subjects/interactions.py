"""Algorithm 4: questions on one budget, each chosen from the answers before it. Its exact law, and many runs.

Both go through the same tree of answers. At every node a real budget is charged for the answers so far and asked
whether the next question fits, so what is audited is the accounting as well as the noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from unlisted.audit.laws.histograms import Histogram, top_k_law
from unlisted.audit.laws.output_law import ALL, OutputLaw
from unlisted.audit.subject import BOTTOM, Output, Pair, Subject
from unlisted.audit.subjects.batches import top_k_batch
from unlisted.audit.subjects.histograms import Pairs, ranking_of
from unlisted.audit.subjects.neighbours import (
    at_the_threshold,
    fresh_labels,
    tied_at_the_cut,
)
from unlisted.counts.bounded_counts import BoundedCounts
from unlisted.errors import BudgetRefusedError
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.sensitivity import Sensitivity

Answers = tuple[Any, ...]
Ask = Callable[[Answers], TopK | None]
"""The next question, chosen from the answers so far; None when there is none."""

REFUSED = "refused"
"""What comes back for a question that no longer fits into the budget."""


@dataclass(frozen=True)
class Interaction:
    """A way of asking, and the total that it must stay within."""

    total: Guarantee
    ask: Ask

    def law(self, histogram: Histogram, answers: Answers = ()) -> OutputLaw:
        """Return the law of all answers together, given the first few of them."""
        question = self.ask(answers)
        if question is None:
            return OutputLaw({answers: ALL})
        if not self._fits(question, answers):
            return self.law(histogram, (*answers, REFUSED))
        answered = top_k_law(question, histogram)
        return answered.then(lambda answer: self.law(histogram, (*answers, answer))).seen_as(lambda pair: pair[1])

    def batch(self, histogram: Histogram, runs: int, answers: Answers = ()) -> Counter[Output]:
        """Ask many times at once: all runs with the same answers so far ask the same question."""
        question = self.ask(answers)
        if question is None:
            return Counter({answers: runs})
        if not self._fits(question, answers):
            return self.batch(histogram, runs, (*answers, REFUSED))
        tally: Counter[Output] = Counter()
        for answer, times in top_k_batch(question)(histogram, runs).items():
            tally += self.batch(histogram, times, (*answers, answer))
        return tally

    def _fits(self, question: TopK, answers: Answers) -> bool:
        """Charge a budget for what was answered before; then ask whether one more question fits."""
        budget = PayWhatYouGet(self.total).budget
        for place, answer in enumerate(answers):
            asked = self.ask(answers[:place])
            if asked is not None and answer != REFUSED:
                budget.settle(budget.reserve(asked.guarantee()), paid_for_draws(asked, answer))
        try:
            budget.reserve(question.guarantee())
        except BudgetRefusedError:
            return False
        return True


def paid_for_draws(question: TopK, answer: Any) -> Guarantee:
    """Return what is to be settled: the ceiling without the draws that were not made, ⊥ being a draw."""
    ranked = answer if question.counts_law is None else answer[0]
    ceiling = question.guarantee()
    unused = (question.ranking.most_draws - len(ranked)) * question.draw_price().rho
    return Guarantee(ceiling.rho - unused, ceiling.delta)


def interaction_subject(name: str, total: Guarantee, ask: Ask, pairs: Pairs) -> Subject:
    """Return questions on one pay-what-you-get budget as a subject: the output has all the answers."""

    def run(histogram: Histogram) -> Hashable:
        budget = PayWhatYouGet(total)
        answers: Answers = ()
        while (question := ask(answers)) is not None:
            counts = BoundedCounts.from_dict(histogram, question.ranking.sensitivity)
            try:
                answers = (*answers, ranking_of(budget.release(question, counts)))
            except BudgetRefusedError:
                answers = (*answers, REFUSED)
        return answers

    asked = Interaction(total, ask)
    return Subject(name, total, pairs, run, asked.law, asked.batch)


def audited_pay_what_you_get() -> Subject:
    """Return three questions: a bolder one after an early end, and a last one that fits only after refunds."""
    ranking = Ranking(k=2, fetched=2, sensitivity=Sensitivity(1))
    careful, bold = (TopK.at(ranking, epsilon=epsilon, delta="0.002") for epsilon in ("0.5", "1"))

    def ask(answers: Answers) -> TopK | None:
        if len(answers) == 3:
            return None
        return bold if answers == ((BOTTOM,),) else careful

    total = PayWhatYouGet.of(results=10, questions=3, epsilon="0.5", delta="0.002").guarantee()

    def pairs() -> Iterable[Pair]:
        yield from fresh_labels(ranking.sensitivity, {})
        yield from tied_at_the_cut(ranking.sensitivity, fetched=2, level=10)
        yield from at_the_threshold(ranking.sensitivity, threshold=int(careful.threshold))

    return interaction_subject("pay-what-you-get", total, ask, pairs)
