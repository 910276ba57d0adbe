"""How a question is made of what was said, and planned: what all questions share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from unlisted.errors import InvalidArgumentError
from unlisted.privacy.guarantee import Budget
from unlisted.query.charging import Payer
from unlisted.query.options import budget_of
from unlisted.query.question import Question

if TYPE_CHECKING:
    from unlisted.query.plan import Plan


class Asking(ABC):
    """What is done with every question, whatever it asks."""

    @abstractmethod
    def plan(self, question: Question, *, account: Payer | None = None) -> Plan:
        """Plan a question that was put together elsewhere.

        Args:
            question: one of the kinds in `unlisted.query.questions`.
            account: the account of a ledger that pays.
        """

    def _planned(self, kind: type[Question], told: dict[str, Any], account: Payer | None) -> Plan:
        """Make a question of the options that it was told, and plan it."""
        return self.plan(kind(**told), account=account)

    def _budget(self, budget: Budget | None, amounts: Mapping[str, Any]) -> Budget:
        """Return what a question may cost: a budget, or the amounts that were said in its place."""
        return budget_of(budget, amounts)

    def _budgeted(
        self, kind: type[Question], told: dict[str, Any], budget: Budget | None, amounts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Add the budget to what a question was told; whatever else is wrong is said with what is wrong in it."""
        try:
            return {**told, "budget": self._budget(budget, amounts)}
        except InvalidArgumentError as wrong:
            problems = [wrong]
        try:
            kind(**told, budget=Budget(epsilon=1))
        except InvalidArgumentError as more:
            problems += more.problems or (more,)
        raise InvalidArgumentError.together(problems)

    def _payer(self, account: Payer | None) -> Payer | None:
        """Return who pays, as far as that is known before a question is."""
        return account
