"""Algorithm 4: questions on one budget, each chosen from the answers before it. Its exact law, and many runs.

Both go through the same tree of answers. At every node a real budget is charged for the answers so far and asked
whether the next question fits, so what is audited is the accounting as well as the noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unlisted.audit.batches import top_k_batch
from unlisted.audit.histogram_laws import Histogram
from unlisted.audit.output_law import ALL, OutputLaw
from unlisted.audit.ranking_laws import top_k_law
from unlisted.audit.subject import Output
from unlisted.errors import BudgetRefusedError
from unlisted.mechanisms.pay_what_you_get import PayWhatYouGet
from unlisted.mechanisms.top_k import TopK
from unlisted.privacy.guarantee import Guarantee

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
