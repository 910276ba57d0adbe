"""What the exact one-shot analysis gives: thresholds by it, on an account, and by the survey's formulas.

Prints a table of docs/known-weaknesses.md. `python bench/utility/sharper_analysis.py`

The survey and the exact analysis are computed for continuous Gaussian noise, in floating point; our columns are
what a release uses, whole numbers and rounding included, with `noise="gaussian"`.
"""

from __future__ import annotations

import math

from unlisted.privacy import survey
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.search import lowest_point
from unlisted.query.choosing import chosen_for
from unlisted.query.questions import Histogram

EPSILON, DELTA = 1.0, 1e-8


def thresholds() -> str:
    lines = [
        "| items per user | survey's formulas | on an account | asked once | exact, continuous noise |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for items in (1, 3, 10, 30, 100):
        budget = Budget(epsilon=str(EPSILON), delta=str(DELTA))
        question = Histogram(items=("item",), items_per_user=items, budget=budget, noise="gaussian")
        account, once = (chosen_for(question, one_shot=one_shot).mechanism.threshold for one_shot in (False, True))
        lines.append(f"| {items} | {_survey(items):.1f} | {account} | {once} | {_exact(items):.1f} |")
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return the table by its name in the docs."""
    return {"thresholds": thresholds()}


def _survey(items: int) -> float:
    """Half of δ to the threshold, half to the conversion ρ + 2·sqrt(ρ·log(1/δ))."""
    log = math.log(2 / DELTA)
    rho = (math.sqrt(log + EPSILON) - math.sqrt(log)) ** 2
    # One count costs rho / items = 1 / (2σ²), and the formula takes ε = 1/σ.
    return survey.gaussian_threshold(math.sqrt(2 * rho / items), DELTA / 2 / items)


def _exact(items: int) -> float:
    """Return the lowest threshold at which some σ keeps the exact δ(ε) of the whole mechanism within δ."""

    def too_much(threshold: float) -> bool:
        def excess(log_sigma: float) -> float:
            return survey.sparse_histogram_delta(EPSILON, math.exp(log_sigma), threshold, items)

        near = math.log(threshold / 6)
        return excess(lowest_point(excess, near - 1, near + 1, steps=40)) > DELTA

    low, high = 2.0, 2000.0
    while high - low > 0.05:
        middle = (low + high) / 2
        low, high = (middle, high) if too_much(middle) else (low, middle)
    return high


if __name__ == "__main__":
    print(thresholds())
