"""What a larger bound on items per user buys and what it costs, measured on the demo's invented table.

Prints a table of docs/choosing-parameters.md. `python bench/utility/items_per_user.py`

Only how many queries appear is random in a release. It is replaced here by its mean over the noise, computed from
the bounded counts that a release would have seen; an invented table may be looked into like that.
"""

from __future__ import annotations

from collections import Counter

from unlisted.demo.searches import searches
from unlisted.privacy.guarantee import Budget
from unlisted.query.planner import plan_of
from unlisted.query.questions import Histogram
from unlisted.tables.count_query import CountQuery
from unlisted.tables.counting import count_all
from unlisted.tables.table import Table, table

BOUNDS = (1, 2, 3, 5, 10, 20, 40, 100, 214)
"""The last is the most different queries that anyone in the table typed: nobody is bounded any more."""

COMMON = "carbonara"
# A release draws anew which items a heavy user keeps; here it is fixed, so that the table can be printed again.
SECRET = bytes(16)


def measured() -> str:
    rows = table(searches(), user="user")
    everything = _counts(rows, BOUNDS[-1])
    lines = [
        f"| items per user | users needed | counts within | rows kept | `{COMMON}` | queries released |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for bound in BOUNDS:
        budget = Budget(epsilon=1, delta="1e-8")
        plan = plan_of(Histogram(items=("query",), items_per_user=bound, budget=budget))
        counts = _counts(rows, bound)
        released = sum(labels * plan.accuracy.chance(count) for count, labels in Counter(counts.values()).items())
        kept = sum(counts.values()) / sum(everything.values())
        lines.append(
            f"| {bound} | {plan.accuracy.needed[50]} | ±{plan.accuracy.half_width} | {kept:.0%} "
            f"| {counts[COMMON]:,} | {released:.0f} |"
        )
    return "\n".join(lines)


def tables() -> dict[str, str]:
    """Return the table by its name in the docs."""
    return {"measured": measured()}


def _counts(rows: Table, bound: int) -> dict[str, int]:
    """Count as a release with this bound would."""
    question = CountQuery(("query",), items_per_user=bound)
    with count_all(rows, question, cut=0, secret=SECRET) as counted:
        return dict(zip(counted.labels.to_pylist(), counted.counts.tolist(), strict=True))


if __name__ == "__main__":
    print(measured())
