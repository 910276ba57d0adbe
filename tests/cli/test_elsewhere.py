"""`unlisted sql` and `unlisted counts`: from a statement to a release, without reaching the system."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, COMMON, cooked

BUDGET = ("--epsilon", 6, "--delta", "1e-9")
TABLE = ("--dialect", "duckdb", "--table", "cooked", "--user", "user", "--item", "dish")


def answered(folder: Path, kind: str, *options: object) -> Path:
    """Print a statement, let DuckDB answer it, and write the answer down."""
    done = unlisted("sql", kind, *TABLE, *options)
    assert done.code == 0, done.said
    path = folder / f"{kind}.csv"
    with duckdb.connect() as connection:
        connection.register("cooked", cooked())
        connection.execute(f"COPY ({done.text.rstrip()[:-1]}) TO '{path}' (HEADER)")
    return path


@pytest.mark.parametrize(
    ("kind", "options", "asked"),
    [
        ("histogram", ("--items-per-user", BOUND), ()),
        ("top", (), ("-k", 3)),
        ("top-histogram", ("--items-per-user", BOUND, "--fetch", 30), ()),
    ],
)
def test_a_statement_s_answer_is_released(
    kind: str, options: tuple[object, ...], asked: tuple[object, ...], tmp_path: Path
) -> None:
    done = unlisted("counts", answered(tmp_path, kind, *options), *asked, *BUDGET, "--format", "json")
    assert done.code == 0, done.said
    found = json.loads(done.data)
    assert found["plan"]["question"] == kind
    assert found["plan"]["user"] == "user"
    assert {row["dish"] for row in found["rows"]} <= set(COMMON)
    assert found["rows"]


def test_the_statement_says_to_use_it_once() -> None:
    first, second = (unlisted("sql", "histogram", *TABLE, "--items-per-user", 3).text for _ in range(2))
    assert first.startswith("-- All counts, of each user at most 3 items.")
    assert "Use it once" in first
    assert first != second


def test_the_file_s_bounds_are_not_another_s(tmp_path: Path) -> None:
    path = answered(tmp_path, "histogram", "--items-per-user", 3)
    done = unlisted("counts", path, *BUDGET, "--items-per-user", 2)
    assert done.code == 2
    assert "--items-per-user = 2 is not allowed: it must be 3, as in the statement" in done.said


def test_counts_of_others_say_what_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("dish,count\nsoup,900\nstew,800\n")
    assert "--question is missing" in unlisted("counts", path, *BUDGET).said
    assert "--items-per-user is missing" in unlisted("counts", path, *BUDGET, "--question", "histogram").said
    done = unlisted("counts", path, *BUDGET, "--question", "histogram", "--items-per-user", 1, "--format", "csv")
    assert done.text.splitlines()[1].startswith("soup,")
    total = unlisted("counts", path, *BUDGET, "--question", "distinct", "--items-per-user", 1)
    assert total.code == 0


def test_an_answer_of_a_search_engine_is_released(tmp_path: Path) -> None:
    buckets = [{"key": "soup", "doc_count": 900}, {"key": "stew", "doc_count": 100}]
    found = {"dish": {"doc_count_error_upper_bound": 0, "buckets": buckets}}
    path = tmp_path / "answer.json"
    path.write_text(json.dumps({"timed_out": False, "_shards": {"failed": 0}, "aggregations": found}))
    asked = ("counts", path, "--question", "top", "-k", 1, *BUDGET)
    assert "--fetch is missing" in unlisted(*asked).said
    assert "soup" in unlisted(*asked, "--fetch", 9).text


def test_an_account_pays_and_the_answer_may_not_overwrite_the_counts(tmp_path: Path) -> None:
    path = answered(tmp_path, "histogram", "--items-per-user", 3)
    ledger = ("--ledger", tmp_path / "books.db")
    made = unlisted("dataset", "create", "meals", *ledger, "--epsilon", 20, "--delta", "1e-5")
    assert made.code == 0, made.said
    opened = unlisted("account", "create", "ann", *ledger, "--dataset", "meals", "--rho", 1, "--delta", "1e-6")
    assert opened.code == 0, opened.said
    assert unlisted("counts", path, *BUDGET, "--output", path, "--overwrite").code == 2
    done = unlisted("counts", path, "--epsilon", 1, *ledger, "--account", "ann")
    assert done.code == 0, done.said
    assert "Paid by 'ann'" in done.said
