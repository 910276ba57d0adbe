"""How many users must share an item for it to appear: a matter of the question and the budget, not of any data.

Prints the tables of docs/choosing-parameters.md. `python bench/utility/users_needed.py`
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from unlisted.noise.on_counts import Noise
from unlisted.privacy.guarantee import Budget, Guarantee
from unlisted.query.plan import Plan
from unlisted.query.planner import plan_of
from unlisted.query.questions import Histogram, Top, TopHistogram

DELTA = "1e-8"


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table whose numbers stand to the right."""
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def by_epsilon() -> str:
    epsilons = ("0.1", "0.5", "1", "2", "4")
    return markdown(
        ["items per user", *(f"ε = {epsilon}" for epsilon in epsilons)],
        (
            [items, *(_half_and_almost_sure(_histogram(items, epsilon)) for epsilon in epsilons)]
            for items in (1, 3, 10, 30, 100)
        ),
    )


def by_delta() -> str:
    plans = {delta: _histogram(10, "1", delta) for delta in ("1e-5", "1e-6", "1e-8", "1e-10", "1e-12")}
    return markdown(
        ["δ", "50 %", "95 %", "99 %", "counts within"],
        ([delta, *_needed(plan), f"±{plan.accuracy.half_width:,}"] for delta, plan in plans.items()),
    )


def by_noise() -> str:
    def row(items: int) -> list[object]:
        laplace, gaussian, chosen = (_histogram(items, "1", noise=n) for n in ("laplace", "gaussian", "auto"))
        name = "Laplace" if chosen.mechanism == laplace.mechanism else "Gaussian"
        return [
            items,
            *(f"{_needed(plan)[0]}, ±{plan.accuracy.half_width:,}" for plan in (laplace, gaussian)),
            name,
        ]

    head = ["items per user", "Laplace: users, error", "Gaussian: users, error", "`auto` takes"]
    return markdown(head, (row(items) for items in (1, 2, 3, 5, 10, 20, 50)))


def by_k() -> str:
    epsilons = ("0.5", "1", "2")
    return markdown(
        ["k", *(f"ε = {epsilon}" for epsilon in epsilons)],
        ([k, *(_half_and_almost_sure(_top(k, epsilon)) for epsilon in epsilons)] for k in (1, 5, 10, 20, 50, 100)),
    )


def by_fetch() -> str:
    def counted(fetch: int, items: int | None) -> Plan:
        budget = Budget(epsilon="1", delta=DELTA)
        return plan_of(TopHistogram(items=("item",), items_per_user=items, budget=budget, fetch=fetch))

    return markdown(
        ["fetch", "`top`, k = 10", "`top_histogram`, 10 items per user", "`top_histogram`, no bound"],
        (
            [
                f"{fetch:,}",
                *(
                    _half_and_almost_sure(plan)
                    for plan in (_top(10, "1", fetch), counted(fetch, 10), counted(fetch, None))
                ),
            ]
            for fetch in (10, 100, 1000, 10_000)
        ),
    )


def by_rows() -> str:
    plans = {rows: _histogram(10, "1", rows=rows) for rows in (1, 2, 5, 10, 50)}
    return markdown(
        ["rows per item", "50 %", "95 %", "99 %", "counts within"],
        ([rows, *_needed(plan), f"±{plan.accuracy.half_width:,}"] for rows, plan in plans.items()),
    )


def by_adjacency() -> str:
    def row(question: str, plans: Sequence[Plan]) -> list[object]:
        return [question, *(_half_and_almost_sure(plan) for plan in plans)]

    budget = Budget(epsilon="1", delta=DELTA)
    asked = [
        {"items": ("item",), "items_per_user": 10, "budget": budget, "adjacency": adjacency}
        for adjacency in ("add_remove", "replace")
    ]
    return markdown(
        ["question", "`add_remove`", "`replace`"],
        [
            row("histogram, 10 items per user", [plan_of(Histogram(**one)) for one in asked]),
            row("top 10, 10 items per user", [plan_of(Top(**one, k=10)) for one in asked]),
        ],
    )


def by_rho() -> str:
    rhos = ("0.001", "0.005", "0.0167", "0.05", "0.125", "0.5", "2")
    deltas = ("1e-6", "1e-8", "1e-10")
    prices = [(rho, Guarantee(Budget(rho=rho, delta=DELTA).rho or 0, 0)) for rho in rhos]
    return markdown(
        ["ρ", *(f"ε at δ = {delta}" for delta in deltas)],
        ([rho, *(f"{float(price.epsilon(delta)):.3g}" for delta in deltas)] for rho, price in prices),
    )


def tables() -> dict[str, str]:
    """Return every table by its name in the docs."""
    made = (by_epsilon, by_delta, by_noise, by_k, by_fetch, by_rows, by_adjacency, by_rho)
    return {table.__name__.removeprefix("by_"): table() for table in made}


def _histogram(
    items: int, epsilon: str, delta: str = DELTA, noise: Noise = "auto", rows: int | None = None
) -> Plan:
    budget = Budget(epsilon=epsilon, delta=delta)
    question = Histogram(items=("item",), items_per_user=items, budget=budget, noise=noise)
    return plan_of(replace(question, count="rows", rows_per_item=rows) if rows else question)


def _top(k: int, epsilon: str, fetch: int | None = None) -> Plan:
    return plan_of(Top(items=("item",), k=k, budget=Budget(epsilon=epsilon, delta=DELTA), fetch=fetch))


def _needed(plan: Plan) -> list[str]:
    return [f"{count:,}" for count in plan.accuracy.needed.values()]


def _half_and_almost_sure(plan: Plan) -> str:
    half, _, almost_sure = _needed(plan)
    return f"{half} – {almost_sure}"


if __name__ == "__main__":
    for name, table in tables().items():
        print(f"\n## {name}\n\n{table}")
