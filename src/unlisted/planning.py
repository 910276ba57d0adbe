"""From a question to a plan: a mechanism is chosen and calibrated. Without a source the plan is a preview."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, get_args

from unlisted.bills import Payer
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.families import Noise
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.top_k_budget import top_k_for_budget
from unlisted.plans import Data, Plan
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, positive, whole
from unlisted.tables.question import Question

Fetch = int | Literal["all"]
RankingMethod = Literal["auto", "gumbel", "labels"]

LARGEST_FETCH = 2**62
"""No engine hands over that many counts; a larger number would only fail there, when data has been touched."""


class Priced(TypedDict, total=False):
    """What a ranking may be told besides: to release the winners' counts, or a price for each draw and a δ.

    `method` is "gumbel" (Algorithm 3), "labels" (first which labels there are, then a ranking of them; needs
    `items_per_user`) or "auto", which takes the second where the question, its bounds and the budget speak for it.
    """

    counts: bool
    method: RankingMethod
    per_item_epsilon: Number
    delta: Number


def histogram_plan(
    question: Question, budget: Budget, noise: Noise, data: Data | None = None, *, one_shot: bool = True
) -> Plan:
    """Calibrate Algorithm 1 for a question; `one_shot` says that no account, which counts ρ, will pay for it."""
    require_items(question.items_per_user, "A histogram")
    found = ThresholdHistogram.for_budget(
        require_budget(budget), question.sensitivity, require_noise(noise), one_shot=one_shot
    )
    return make_plan("histogram", question, found, budget, data)


def top_histogram_plan(
    question: Question, budget: Budget, fetch: int, noise: Noise, data: Data | None = None
) -> Plan:
    """Calibrate Algorithm 2 for a question."""
    fetched = require_fetch(fetch)
    found = TopHistogram.for_budget(require_budget(budget), question.sensitivity, fetched, require_noise(noise))
    return make_plan("top-histogram", question, found, budget, data)


def gumbel_plan(
    question: Question,
    k: int,
    budget: Budget | None,
    fetch: Fetch | None,
    priced: Priced,
    data: Data | None = None,
) -> Plan:
    """Calibrate Algorithm 3 for a question."""
    length = whole("k", k)
    fetched = fetched_or_default(fetch, length)
    if fetched is None:
        require_items(question.items_per_user, "A ranking of all counts")
    found, spent = top_found(Ranking(length, fetched, question.sensitivity), budget, priced)
    return make_plan("top", question, found, spent, data)


def top_found(ranking: Ranking, budget: Budget | None, priced: Priced) -> tuple[Calibrated[TopK], Budget]:
    """Calibrate a ranking by a budget for all of it, or by a price for each draw; return that budget too."""
    counts, each, delta = priced.get("counts", False), priced.get("per_item_epsilon"), priced.get("delta")
    if not isinstance(counts, bool):
        raise InvalidArgumentError("counts", counts, "True or False")
    if each is None and delta is not None:
        hint = "A budget has its own: ul.Budget(epsilon=1, delta=1e-8)."
        raise InvalidArgumentError("delta", delta, "left out without per_item_epsilon", hint)
    if each is None:
        hint = "Or say per_item_epsilon and delta, to pay for each draw." if budget is None else ""
        return top_k_for_budget(require_budget(budget, hint), ranking, counts=counts), require_budget(budget)
    if budget is not None:
        raise InvalidArgumentError("per_item_epsilon", each, "left out with a budget", "Say one of the two.")
    if counts:
        raise InvalidArgumentError("counts", counts, "left out with per_item_epsilon", "Give a budget instead.")
    if delta is None:
        raise InvalidArgumentError("delta", delta, "given with per_item_epsilon", "For example: delta=1e-9.")
    mechanism = TopK.at(ranking, epsilon=positive("per_item_epsilon", each), delta=delta)
    spent = Budget(rho=mechanism.guarantee().rho, delta=delta)
    return Calibrated(mechanism, "each draw has the ε that was asked for."), spent


def priced_by(account: Payer | None, priced: Priced, budget: Budget | None) -> Priced:
    """Let an account that was opened with an ε a result and a δ a question say what nobody else said."""
    if account is None or budget is not None or account.result_epsilon is None or account.question_delta is None:
        return priced
    supplied = Priced(per_item_epsilon=account.result_epsilon, delta=account.question_delta)
    return {**supplied, **priced}


def fetched_or_default(fetch: Fetch | None, k: int) -> int | None:
    """Return k̄: what was said, None for all counts, else the larger of 1000 and 10·k."""
    if isinstance(fetch, str) and fetch == "all":
        return None
    return require_fetch(max(1000, 10 * k) if fetch is None else fetch)


def require_fetch(fetch: object) -> int:
    """Read k̄."""
    if isinstance(fetch, str):
        raise InvalidArgumentError("fetch", fetch, "a whole number, 1 or above, or 'all' for a ranking")
    if whole("fetch", fetch) > LARGEST_FETCH:
        raise InvalidArgumentError("fetch", fetch, f"a whole number between 1 and {LARGEST_FETCH}")
    return whole("fetch", fetch)


def require_budget(budget: object, hint: str = "") -> Budget:
    """Refuse what is no budget."""
    if isinstance(budget, Budget):
        return budget
    raise InvalidArgumentError("budget", budget, "a budget such as ul.Budget(epsilon=1, delta=1e-8)", hint)


def require_noise(noise: object) -> Noise:
    """Refuse what is no noise, of whatever type it is."""
    for known in get_args(Noise):
        if isinstance(noise, str) and noise == known:
            return known  # type: ignore[no-any-return]
    raise InvalidArgumentError("noise", noise, "'auto', 'laplace' or 'gaussian'")


def require_items(items_per_user: int | None, what: str) -> None:
    """Refuse to count without a bound on the items of one user where there is no answer without one."""
    if items_per_user is None:
        hint = f"{what} needs a bound on how many different items one user counts for, such as 10."
        raise InvalidArgumentError("items_per_user", None, "a whole number, 1 or above", hint)


def make_plan(kind: str, question: Question, found: Calibrated[Any], budget: Budget, data: Data | None) -> Plan:
    """Put a question and the mechanism that was calibrated for it together."""
    # With ρ, the budget's δ is the threshold's alone; ε is then reported at twice that.
    at_delta = budget.delta if budget.epsilon is not None else 2 * budget.delta
    mechanism = found.mechanism
    asked: dict[str, Any] = {
        "question": kind,
        "unit": "user",
        "user": data.user if data else None,
        "items": list(question.items) if data else None,
        "count": question.count,
        "items_per_user": question.items_per_user,
        "rows_per_item": question.rows_per_item,
        "where": question.where,
        "max_label_bytes": question.max_label_bytes,
        "adjacency": question.adjacency,
    }
    return Plan(mechanism, found.reason, at_delta, asked | mechanism.describe().parameters, data)
