"""A service over counts that another system made: their bounds are settled, and other questions are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from tests.fixtures.kitchen import COMMON, cooked

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.query.counts_elsewhere import counting_sql
from unlisted.query.plan import Plan
from unlisted.server.config import Config, Offer, read_config
from unlisted.server.planning import Asked, plan_of
from unlisted.server.startup import open_datasets, open_table

TOML = """
ledger = "books.db"
[datasets.meals]
source = "answer.csv"
counts = true
user = "user"
items = ["dish"]
items_per_user = {bound}
budget = {{ epsilon = 50, delta = 1e-5 }}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    asked = {"table": "cooked", "user": "user", "item": "dish", "items_per_user": 8}
    statement = counting_sql("histogram", dialect="duckdb", **asked)
    with duckdb.connect() as connection:
        connection.register("cooked", cooked())
        connection.execute(f"COPY ({statement.rstrip()[:-1]}) TO '{tmp_path / 'answer.csv'}' (HEADER)")
    return tmp_path


def configured(folder: Path, bound: int = 8) -> Config:
    (folder / "unlisted.toml").write_text(TOML.format(bound=bound))
    return read_config(folder / "unlisted.toml")


def asked(offer: Offer, ledger: Ledger, question: str, **said: object) -> Plan:
    account = ledger.account("ann")
    return plan_of(Asked.of(question, ("dish",), said), open_table(offer), offer, account)


@pytest.fixture
def opened(folder: Path) -> Iterator[tuple[Offer, Ledger]]:
    config = configured(folder)
    with Ledger(config.ledger) as ledger:
        open_datasets(config, ledger)
        ledger.open("ann", dataset="meals", budget=Budget(epsilon=40, delta=1e-6))
        yield config.datasets["meals"], ledger


def test_questions_are_answered_from_the_counts(opened: tuple[Offer, Ledger]) -> None:
    amounts = {"epsilon": 6, "delta": 1e-9}
    found = asked(*opened, "histogram", **amounts).run()
    assert {row["dish"] for row in found.rows} == set(COMMON)
    assert found.plan["items_per_user"] == 8
    assert len(asked(*opened, "top", k=2, **amounts).run().rows) == 2
    assert found.stamp["account"] == "ann"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("histogram", {"items_per_user": 3}),
        ("histogram", {"where": "dish = 'soup'"}),
        ("histogram", {"method": "find"}),
        ("top", {"k": 1, "count": "rows", "rows_per_item": 2}),
        ("labels", {}),
    ],
)
def test_what_counts_cannot_answer_is_refused(
    opened: tuple[Offer, Ledger], question: str, said: dict[str, object]
) -> None:
    with pytest.raises(InvalidArgumentError):
        asked(*opened, question, epsilon=1, delta=1e-9, **said)


def test_a_service_whose_file_was_counted_within_another_bound_does_not_start(folder: Path) -> None:
    config = configured(folder, bound=3)
    with Ledger(config.ledger) as ledger:
        with pytest.raises(InvalidArgumentError, match="as in the statement"):
            open_datasets(config, ledger)
        assert ledger.datasets() == []
