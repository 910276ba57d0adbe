"""The whole way, audited: rows in an engine, an account in a ledger, a stream in a folder.

A run takes tens of milliseconds here, so there are few, and the twins are mutants that few runs show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from unlisted.audit.black_box import black_box
from unlisted.audit.end_to_end import (
    busy_user,
    histogram_of_rows,
    one_row_each,
    pay_what_you_get,
    rows_subject,
    stream_in_a_folder,
)
from unlisted.audit.subject import BOTTOM, Pair, Subject
from unlisted.audit.subjects.interactions import REFUSED
from unlisted.privacy.guarantee import Budget
from unlisted.query.plan import Plan
from unlisted.query.private_table import PrivateTable, table

FEW, LONG = 80, 4000


def sixty_rows_each(source: PrivateTable) -> Plan:
    """The same histogram with the same noise, for users who are not bounded: it costs sixty times as much."""
    budget = Budget(epsilon=30, delta="0.01")
    asked = {"items_per_user": 1, "count": "rows", "rows_per_item": 60}
    return source.histogram("item", budget=budget, noise="laplace", **asked)


def in_a_file(folder: Path, pair: Pair) -> Pair:
    """Put both tables into one DuckDB file."""
    path = folder / "audit.duckdb"
    sides = {}
    with duckdb.connect(str(path)) as connection:
        for name, users in (("without_one", 30), ("with_one", 30)):
            connection.execute(
                f"CREATE TABLE {name} AS SELECT * FROM (VALUES ('', '')) AS empty(user, item) LIMIT 0"
            )
            for item in ("bread", "rice", "soup"):
                rows = [(f"{item}/{i}", item) for i in range(users)]
                connection.executemany(f"INSERT INTO {name} VALUES (?, ?)", rows)
        busy = [("busy", item) for item in ("bread", "rice", "soup") for _ in range(60)]
        connection.executemany("INSERT INTO with_one VALUES (?, ?)", busy)
    sides = [table(str(path), user="user", table=name) for name in ("without_one", "with_one")]
    return replace(pair, left=sides[0], right=sides[1])


def test_rows_in_duckdb_keep_the_plan_s_promise(tmp_path: Path) -> None:
    subject = rows_subject("rows", one_row_each, [in_a_file(tmp_path, busy_user())])
    assert subject.claim == histogram_of_rows().claim
    found = black_box(subject, trials=FEW)
    assert found.against is None


def test_users_who_are_not_bounded_are_found() -> None:
    unbounded = rows_subject("unbounded", sixty_rows_each, [busy_user()])
    claimed = replace(unbounded, claim=histogram_of_rows().claim)
    assert black_box(claimed, trials=FEW).against is not None


def apart(subject: Subject, left: Mapping[str, int], right: Mapping[str, int]) -> Subject:
    """The same subject on data that is farther apart than neighbours are."""
    return replace(subject, pairs=lambda: [Pair("not neighbours", left, right)])


def test_questions_on_an_account_keep_its_total(tmp_path: Path) -> None:
    subject = pay_what_you_get(tmp_path)
    assert black_box(subject, trials=FEW).against is None


def test_an_account_that_is_asked_about_forty_users_at_once_is_found(tmp_path: Path) -> None:
    subject = apart(pay_what_you_get(tmp_path), {"bread": 10, "soup": 1}, {"bread": 10, "soup": 40})
    assert black_box(subject, trials=160).against is not None


def test_answers_of_an_account_are_rankings_and_refusals(tmp_path: Path) -> None:
    """Two full rankings leave one result of five: the third question does not fit."""
    answers = pay_what_you_get(tmp_path).run({"bread": 500, "soup": 900})
    assert answers == (("soup", "bread"), ("soup", "bread"), REFUSED)


def test_a_question_that_ends_early_leaves_room(tmp_path: Path) -> None:
    assert pay_what_you_get(tmp_path).run({}) == ((BOTTOM,),) * 3


def test_a_stream_in_a_folder_keeps_its_promise(tmp_path: Path) -> None:
    subject = stream_in_a_folder(tmp_path)
    found = black_box(subject, trials=64)
    assert found.against is None
    far = apart(subject, ({"soup": 60}, {}, {}), ({"soup": 300}, {}, {}))
    assert black_box(far, trials=64).against is not None


@pytest.mark.long
@pytest.mark.parametrize("way", ["rows", "ledger", "stream"])
def test_the_whole_way_many_times(way: str, tmp_path: Path) -> None:
    subjects = {
        "rows": histogram_of_rows,
        "ledger": lambda: pay_what_you_get(tmp_path),
        "stream": lambda: stream_in_a_folder(tmp_path),
    }
    assert black_box(subjects[way](), trials=LONG).against is None
