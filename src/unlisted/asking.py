"""What may be asked of a table: `histogram`, `top`, `top_histogram`. Each returns a plan and touches no data.

`table(...)` is the way in. The functions that make the plans need no source: without one they make a preview.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Literal, TypedDict, Unpack, cast, get_args

from unlisted.accuracy import Mechanism
from unlisted.bills import Payer
from unlisted.errors import InvalidArgumentError
from unlisted.mechanisms.counts import BoundedCounts
from unlisted.mechanisms.families import Noise
from unlisted.mechanisms.profile import CountProfile
from unlisted.mechanisms.threshold_histogram import ThresholdHistogram
from unlisted.mechanisms.top_histogram import TopHistogram
from unlisted.mechanisms.top_k import Ranking, TopK
from unlisted.mechanisms.top_k_budget import top_k_for_budget
from unlisted.plans import Data, Plan
from unlisted.privacy.calibrate import Calibrated
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import Number, positive, whole
from unlisted.privacy.sensitivity import Adjacency
from unlisted.tables.bounding import fresh_secret
from unlisted.tables.column_types import ColumnType
from unlisted.tables.counting import count_all, count_top
from unlisted.tables.question import Count, Question
from unlisted.tables.table import Table
from unlisted.tables.table import table as open_table

Fetch = int | Literal["all"]

LARGEST_FETCH = 2**62
"""No engine hands over that many counts; a larger number would only fail there, when data has been touched."""

SELDOM = Fraction(1, 100)
"""Counts that pass the threshold less often than this are left to the lazy tail."""


class Counting(TypedDict, total=False):
    """How items are counted: options that every question has.

    `count` is "users" or "rows" (then `rows_per_item` is the most rows of one user that one item counts);
    `where` a condition on rows; `max_label_bytes` the longest label that is counted; `adjacency` "add_remove" or
    "replace".
    """

    count: Count
    rows_per_item: int | None
    where: str | None
    max_label_bytes: int
    adjacency: Adjacency


class Asked(Counting, total=False):
    """How items are counted, and `account`: who pays. Without one nobody adds up what was asked before."""

    account: Payer | None


class Priced(TypedDict, total=False):
    """What a ranking may be told besides: to release the winners' counts, or a price for each draw and a δ."""

    counts: bool
    per_item_epsilon: Number
    delta: Number


class Ranked(Asked, Priced, total=False):
    """All that a ranking of a table may be told; `items_per_user` is only needed to rank every count."""

    items_per_user: int | None


Item = str | list[str] | tuple[str, ...]


class PrivateTable:
    """Rows of users, somewhere, and the questions that may be asked of them."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return repr(self._table)

    def columns(self) -> Mapping[str, ColumnType]:
        """Return the columns and what they hold, without touching a row."""
        return self._table.columns()

    def histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int,
        noise: Noise = "auto",
        **asked: Unpack[Asked],
    ) -> Plan:
        """Plan the counts of every value that enough users share (Algorithm 1)."""
        question, account = _question(item, items_per_user, asked)
        plan = histogram_plan(question, budget, noise, self._data(question), one_shot=account is None)
        return plan.paid_by(account)

    def top_histogram(
        self,
        item: Item,
        *,
        budget: Budget,
        items_per_user: int | None = None,
        fetch: int = 1000,
        noise: Noise = "auto",
        **asked: Unpack[Asked],
    ) -> Plan:
        """Plan the counts of the largest values, from the `fetch` + 1 largest counts alone (Algorithm 2)."""
        question, account = _question(item, items_per_user, asked)
        return top_histogram_plan(question, budget, fetch, noise, self._data(question)).paid_by(account)

    def top(
        self,
        item: Item,
        *,
        k: int,
        budget: Budget | None = None,
        fetch: Fetch | None = None,
        **ranked: Unpack[Ranked],
    ) -> Plan:
        """Plan a ranking of the k most common values (Algorithm 3).

        No bound on items per user is needed: the ranking is read from the `fetch` largest counts (else the
        larger of 1000 and 10·k). `fetch="all"` reads it from all counts and needs `items_per_user`. Either a
        `budget` for the whole question, or `per_item_epsilon` and `delta`, which an account that was opened with
        results and questions supplies. With `counts=True` the winners' counts follow.
        """
        items_per_user = ranked.get("items_per_user")
        priced, asked = _split(ranked)
        question, account = _question(item, items_per_user, asked)
        priced = priced_by(account, priced, budget)
        return top_plan(question, k, budget, fetch, priced, self._data(question)).paid_by(account)

    def _data(self, question: Question) -> Data:
        def check() -> None:
            self._table.rows(question)

        @contextmanager
        def counted(mechanism: Mechanism) -> Iterator[BoundedCounts | CountProfile]:
            fetched = _fetched(mechanism)
            if fetched is not None:
                yield count_top(self._table, question, fetch=fetched, secret=fresh_secret())
                return
            with count_all(self._table, question, cut=_cut(mechanism), secret=fresh_secret()) as counts:
                yield counts

        read = self._table
        return Data(read.user, read.source, question.items, check, counted, read.types)


def table(
    source: Any, *, user: str, table: str | None = None, types: Mapping[str, str] | None = None
) -> PrivateTable:
    """Name the rows to ask about; nothing is opened before it is needed.

    Args:
        source: a path or glob of Parquet, CSV (also .gz) or JSON lines files; a DuckDB file or a PostgreSQL URL,
            both with `table`; a data frame that speaks the Arrow PyCapsule interface, such as a Polars, pandas or
            PyArrow one; a Spark data frame; an Ibis table.
        user: the column that says whose row it is. Its values are what is protected.
        table: the table or view inside a database.
        types: what the columns of a CSV or JSON lines file hold, such as {"age": "int"}; they are text otherwise.
    """
    if isinstance(source, type):
        raise InvalidArgumentError("source", source.__name__, "a table, not a type of tables")
    if types is not None and not isinstance(types, Mapping):
        raise InvalidArgumentError("types", types, 'a mapping of column to type, such as {"age": "int"}')
    return PrivateTable(open_table(source, user=user, table=table, types=types))


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


def top_plan(
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


def only_known(given: Mapping[str, Any], *known: type) -> None:
    """Refuse an option that does not exist: a misspelt `where` must not be a question without one."""
    names = [name for options in known for name in options.__annotations__]
    for name, value in given.items():
        if name not in names:
            raise InvalidArgumentError(name, value, f"one of the options {', '.join(names)}")


def _split(ranked: Ranked) -> tuple[Priced, Asked]:
    """Tell what a ranking may be told besides from what every question may be told."""
    only_known(ranked, Ranked)
    priced = {name: value for name, value in ranked.items() if name in Priced.__annotations__}
    asked = {name: value for name, value in ranked.items() if name in Asked.__annotations__}
    return cast("Priced", priced), cast("Asked", asked)


def _question(item: Item, items_per_user: int | None, asked: Asked) -> tuple[Question, Payer | None]:
    """Check a question, and say who pays for it."""
    only_known(asked, Asked)
    counting = cast("Counting", {name: value for name, value in asked.items() if name != "account"})
    question = Question(cast("tuple[str, ...]", item), items_per_user=items_per_user, **counting)
    return question, asked.get("account")


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
    if isinstance(mechanism, TopK):
        asked |= {"k": mechanism.ranking.k, "fetch": mechanism.ranking.fetched or "all"}
    if isinstance(mechanism, TopHistogram):
        asked |= {"fetch": mechanism.fetched}
    return Plan(mechanism, found.reason, at_delta, asked, data)


def _fetched(mechanism: Mechanism) -> int | None:
    if isinstance(mechanism, TopK):
        return mechanism.ranking.fetched
    return mechanism.fetched if isinstance(mechanism, TopHistogram) else None


def _cut(mechanism: Mechanism) -> int:
    """Return the largest count that is left to the lazy tail: a public number, of threshold and noise alone."""
    if not isinstance(mechanism, ThresholdHistogram):
        return 0
    return max(0, mechanism.threshold + 1 - mechanism.law.quantile(SELDOM))
