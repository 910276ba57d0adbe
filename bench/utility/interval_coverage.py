"""How often the 95 % intervals hold the bounded count, also for items that barely appeared.

Prints a table of docs/known-weaknesses.md. `python bench/utility/interval_coverage.py`

Nothing is simulated: for a count c every noisy value y above the threshold has a known chance, and its interval
either holds c or does not.
"""

from __future__ import annotations

import numpy as np

from unlisted.mechanisms.randomized_threshold import share_of
from unlisted.noise import intervals
from unlisted.privacy.guarantee import Budget
from unlisted.query.planner import plan_of
from unlisted.query.questions import Histogram

COUNTS = (70, 90, 107, 120, 140, 170, 200, 400)


def coverage() -> str:
    plan = plan_of(Histogram(items=("item",), items_per_user=10, budget=Budget(epsilon=1, delta="1e-8")))
    law, threshold, half = plan.mechanism.law, plan.mechanism.threshold, plan.accuracy.half_width
    lowered = share_of(plan.mechanism.lowered)
    lines = [
        "| bounded count | appears | mean value shown | plain ± holds it | `low`–`high` holds it "
        "| mean `low` | mean `high` |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for count in COUNTS:
        # A value at the threshold is shown where the coin of its label lowers it.
        shown = np.arange(threshold, max(threshold, count) + 12 * half)
        chance = law.survival(shown - count) - law.survival(shown - count + 1)
        chance[0] *= lowered
        appears, given = chance.sum(), chance / chance.sum()
        low, high = intervals.given_shown(law, threshold, shown, lowered=lowered)
        plain_low, plain_high = intervals.plain(law, shown)
        plain = given[(plain_low <= count) & (count <= plain_high)].sum()
        held = given[(low <= count) & (count <= high)].sum()
        lines.append(
            f"| {count} | {_percent(appears)} | {given @ shown:.0f} | {_percent(plain)} | {_percent(held)} "
            f"| {given @ low:.0f} | {given @ high:.0f} |"
        )
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return the table by its name in the docs."""
    return {"coverage": coverage()}


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


if __name__ == "__main__":
    print(coverage())
