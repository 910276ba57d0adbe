"""`unlisted labels`, and `unlisted top --method labels`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, SHELL, asked
from tests.tables.fixtures.engines import installed

QUESTION = (*SHELL, "--items-per-user", BOUND)
FOUND = sorted(COMMON)
PRICE = ("--epsilon", "1", "--delta", "1e-8")


def test_the_common_values_come_out_in_their_own_order_and_alone(rows: Path) -> None:
    done = unlisted("labels", rows, *QUESTION)
    assert done.code == 0
    assert done.said == ""
    lines = [line.rstrip() for line in done.text.splitlines()]
    assert lines[0] == "4 rows; only the values were released, no counts and no order"
    assert lines[1 : 2 + len(FOUND)] == ["dish", *FOUND]
    assert lines[-2].startswith("Guarantee: ")
    assert PLANTED not in done.text


def test_the_question_is_the_one_that_python_asks(rows: Path) -> None:
    found = json.loads(unlisted("labels", rows, *QUESTION, "--format", "json").data)
    plan = asked().labels("dish", budget=BUDGET, items_per_user=BOUND)
    assert found["rows"] == [{"dish": dish} for dish in FOUND]
    assert found["plan"] == plan.as_dict()
    assert found["guarantee"] == plan.preview()["guarantee"]
    assert found["complete"] is True


def test_every_form_has_the_values_and_nothing_beside_them(rows: Path) -> None:
    text = unlisted("labels", rows, *QUESTION, "--format", "csv").text
    assert list(csv.reader(io.StringIO(text))) == [["dish"], *([dish] for dish in FOUND)]
    data = unlisted("labels", rows, *QUESTION, "--format", "parquet").data
    assert pq.read_table(pa.BufferReader(data)).to_pylist() == [{"dish": dish} for dish in FOUND]


@pytest.mark.parametrize("kind", ["table", "json", "csv", "parquet"])
def test_a_file_a_receipt_and_a_chart_hold_nothing_unreleased(kind: str, rows: Path, tmp_path: Path) -> None:
    installed("altair")
    files = [tmp_path / f"answer.{kind}", tmp_path / "receipt.json", tmp_path / "chart.svg"]
    words = ("--output", files[0], "--receipt", files[1], "--chart", files[2])
    done = unlisted("labels", rows, *QUESTION, "--format", kind, *words)
    assert done.code == 0
    assert done.said == f"Wrote {len(FOUND)} rows to {files[0]}\n"
    for file in files:
        assert PLANTED.encode() not in file.read_bytes()
        assert b"rare" not in file.read_bytes()
    assert json.loads(files[1].read_bytes())["reading"] == "only the values were released, no counts and no order"
    assert all(dish.encode() in files[2].read_bytes() for dish in FOUND)


@pytest.mark.parametrize(
    ("method", "mechanism"),
    [
        ("counts", "counted_labels"),
        ("optimal", "optimal_labels"),
        ("weighted", "weighted_labels"),
        ("sips", "label_rounds"),
        ("adaptive", "adaptive_labels"),
    ],
)
def test_the_method_can_be_chosen(rows: Path, method: str, mechanism: str) -> None:
    found = json.loads(unlisted("labels", rows, *QUESTION, "--method", method, "--format", "json").data)
    assert found["plan"]["mechanism"] == mechanism
    assert [row["dish"] for row in found["rows"]] == FOUND


def test_several_columns_a_condition_rho_and_the_exchange_of_users(rows: Path) -> None:
    columns = ("--user", "user", "--item", "place", "--item", "dish")
    words = ("--rho", "2", "--delta", "1e-9", "--items-per-user", BOUND, "--adjacency", "replace")
    done = unlisted("labels", rows, *columns, *words, "--where", "place = 'home'", "--format", "json")
    found = json.loads(done.data)
    assert found["rows"] == [{"place": "home", "dish": dish} for dish in FOUND]
    assert found["guarantee"]["rho"] <= 2
    assert (found["plan"]["adjacency"], found["plan"]["where"]) == ("replace", "place = 'home'")


def test_an_answer_of_nothing_is_an_answer(rows: Path) -> None:
    words = (*QUESTION, "--where", "dish = 'nothing of the kind'")
    assert unlisted("labels", rows, *words, "--format", "csv").text == "dish\n"
    assert json.loads(unlisted("labels", rows, *words, "--format", "json").data)["rows"] == []
    assert unlisted("labels", rows, *words).text.startswith("0 rows; only the values")


def test_the_table_says_how_many_users_a_value_needs(rows: Path) -> None:
    said = unlisted("labels", rows, *QUESTION).text.splitlines()[-1]
    plan = asked().labels("dish", budget=BUDGET, items_per_user=BOUND).as_dict()
    needed, alone = plan["users_needed"]["50"], plan["users_needed_of_one_item"]["50"]
    assert said.startswith(
        f"A value needs about {alone} users who have no other, or {needed} who have {BOUND} each;"
    )
    by_counts = unlisted("labels", rows, *QUESTION, "--method", "counts").text.splitlines()[-1]
    assert by_counts.startswith("Values with fewer than about")
    of_one = unlisted("labels", rows, *SHELL, "--items-per-user", 1, "--method", "weighted").text.splitlines()[-1]
    assert of_one.startswith("Values with fewer than about")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--items-per-user", 0), "--items-per-user = 0"),
        (("--items-per-user", 1_000_001), "--items-per-user = 1000001"),
        (("--items-per-user", 3, "--method", "best"), "'best' is not one of"),
        (("--items-per-user", 3, "--count", "rows"), "No such option: --count"),
        (("--items-per-user", 3, "--rows-per-item", 2), "No such option: --rows-per-item"),
        (("--items-per-user", 3, "--noise", "laplace"), "No such option: --noise"),
        (("--items-per-user", 3, "--where", "dish ="), "--where = 'dish ='"),
        (("--items-per-user", 3, "--chart", "labels.gif"), "--chart = 'labels.gif'"),
        (("--items-per-user", 3, "--delta", "0.5"), "--delta = '0.5'"),
        (("--items-per-user", 3, "--item", "count"), "--item = 'count'"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(words: tuple[object, ...], said: str, rows: Path) -> None:
    done = unlisted("labels", rows, *SHELL, *words)
    assert done.code == 2
    assert done.data == b""
    assert said in done.said


def test_an_account_pays_once(rows: Path, tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "budget.db")
    share = ("--dataset", "kitchen", "--rho", "10", "--delta", "1e-6")
    assert unlisted("account", "create", "ads", *ledger, *share).code == 0
    words = (*QUESTION, *ledger, "--account", "ads", "--idempotency-key", "monday", "--format", "json")
    first, again = unlisted("labels", rows, *words), unlisted("labels", rows, *words)
    assert first.code == again.code == 0
    assert first.data == again.data
    assert "Paid by 'ads': entry " in first.said
    spent = json.loads(unlisted("account", "show", "ads", *ledger, "--format", "json").data)
    assert float(spent["spent"]["rho"]) == pytest.approx(json.loads(first.data)["guarantee"]["rho"])
    # An account adds up ρ, so its threshold is the higher one, and a preview with the account knows it.
    words = ("--items-per-user", BOUND, *PRICE, "--format", "json")
    alone = json.loads(unlisted("preview", "labels", *words).data)
    paid = json.loads(unlisted("preview", "labels", *words, *ledger, "--account", "ads").data)
    assert paid["plan"]["threshold"] > alone["plan"]["threshold"]


def test_an_account_that_has_too_little_refuses(rows: Path, tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "budget.db")
    share = ("--dataset", "kitchen", "--rho", "0.01", "--delta", "1e-6")
    assert unlisted("account", "create", "ads", *ledger, *share).code == 0
    done = unlisted("labels", rows, *QUESTION, *ledger, "--account", "ads")
    assert done.code == 3
    assert done.data == b""


class TestRankings:
    @pytest.mark.parametrize(("method", "mechanism"), [("gumbel", "top_k"), ("labels", "label_ranking")])
    def test_the_way_to_rank_can_be_chosen(self, rows: Path, method: str, mechanism: str) -> None:
        found = json.loads(unlisted("top", rows, *QUESTION, "-k", 2, "--method", method, "--format", "json").data)
        assert found["plan"]["mechanism"] == mechanism
        assert found["rows"] == [{"dish": "soup", "rank": 1}, {"dish": "bread", "rank": 2}]

    def test_its_counts_are_those_of_all_users(self, rows: Path) -> None:
        done = unlisted("top", rows, *QUESTION, "-k", 2, "--method", "labels", "--counts")
        assert "95 % interval for the count of all users" in done.text.splitlines()[0]
        assert done.text.splitlines()[1].split() == ["dish", "rank", "count", "low", "high"]

    def test_a_long_ranking_needs_no_bound_and_its_counts_come_with_it(self, rows: Path) -> None:
        found = json.loads(unlisted("top", rows, *SHELL, "-k", 200, "--counts", "--format", "json").data)
        assert found["plan"]["mechanism"] == "found_top_k"
        assert list(found["rows"][0]) == ["dish", "rank", "count", "low", "high"]
        assert not found["complete"]

    def test_auto_is_what_python_takes(self) -> None:
        words = ("--items-per-user", 3, *PRICE, "--format", "json")
        for k, mechanism in ((1, "top_k"), (200, "found_top_k")):
            plan = json.loads(unlisted("preview", "top", "-k", k, *words).data)["plan"]
            assert plan["mechanism"] == mechanism
            assert "(found first, taken if" in plan["reason"]

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            (("--method", "find", "--fetch", 10), "--fetch = 10"),
            (("--method", "labels", "--items-per-user", 3, "--fetch", 10), "--fetch = 10"),
            (("--method", "labels", "--items-per-user", 3, "--count", "rows", "--rows-per-item", 2), "--count = "),
            (("--method", "peeling"), "'peeling' is not one of"),
        ],
    )
    def test_what_is_wrong_is_said(self, rows: Path, words: tuple[object, ...], said: str) -> None:
        for done in (
            unlisted("top", rows, *SHELL, "-k", 2, *words),
            unlisted("preview", "top", *PRICE, "-k", 2, *words),
        ):
            assert done.code == 2
            assert said in done.said

    def test_a_price_for_each_draw_is_for_the_other_way(self, rows: Path) -> None:
        columns = ("--user", "user", "--item", "dish", "-k", 2, "--items-per-user", 3, "--method", "labels")
        done = unlisted("top", rows, *columns, "--per-item-epsilon", "0.4", "--delta", "1e-9")
        assert done.code == 2
        assert "--per-item-epsilon = 0.4 is not allowed: it must be left out with method='labels'" in done.said
