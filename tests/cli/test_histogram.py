"""`unlisted histogram`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.shell import unlisted
from tests.fixtures.kitchen import BOUND, BUDGET, COMMON, PLANTED, SHELL, asked

HISTOGRAM = (*SHELL, "--items-per-user", BOUND)


def test_the_counts_of_common_values_come_out(rows: Path) -> None:
    done = unlisted("histogram", rows, *HISTOGRAM)
    assert done.code == 0
    assert done.said == ""
    lines = done.text.splitlines()
    assert [line.split()[0] for line in lines[2 : 2 + len(COMMON)]] == list(COMMON)
    assert PLANTED not in done.text


def test_the_question_is_the_one_that_python_asks(rows: Path) -> None:
    found = json.loads(unlisted("histogram", rows, *HISTOGRAM, "--format", "json").data)
    plan = asked().histogram("dish", budget=BUDGET, items_per_user=BOUND)
    assert found["plan"] == plan.as_dict()
    assert found["guarantee"] == plan.preview()["guarantee"]
    assert found["complete"] is True


def test_a_condition_keeps_rows(rows: Path) -> None:
    done = unlisted("histogram", rows, *HISTOGRAM, "--where", "place = 'home'", "--format", "json")
    found = json.loads(done.data)
    assert found["plan"]["where"] == "place = 'home'"
    assert abs(found["rows"][0]["count"] - COMMON["soup"] / 2) < 40


def test_a_broken_quote_costs_its_own_line_where_lines_are_rows(rows: Path) -> None:
    header, *lines = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(b"".join([header, b'0,"soup\n', *lines]))
    words = ("histogram", rows, *HISTOGRAM, "--format", "json")
    assert json.loads(unlisted(*words).data)["rows"] == []
    found = json.loads(unlisted(*words, "--types", "*=line").data)["rows"]
    assert [row["dish"] for row in found] == list(COMMON)


def test_columns_of_text_can_be_declared(rows: Path) -> None:
    question = (*HISTOGRAM, "--where", "portions >= 3", "--format", "json")
    refused = unlisted("histogram", rows, *question)
    assert refused.code == 2
    assert "portions" in refused.said
    done = unlisted("histogram", rows, *question, "--types", "portions=int", "--types", "user=int")
    assert done.code == 0
    assert abs(json.loads(done.data)["rows"][0]["count"] - COMMON["soup"] / 2) < 40


def test_an_item_of_several_columns(rows: Path) -> None:
    done = unlisted("histogram", rows, *HISTOGRAM, "--item", "place", "--format", "json")
    found = json.loads(done.data)
    assert found["plan"]["items"] == ["dish", "place"]
    assert list(found["rows"][0]) == ["dish", "place", "count", "low", "high"]
    assert {(row["dish"], row["place"]) for row in found["rows"]} >= {("soup", "home"), ("soup", "away")}


def test_rows_are_counted(rows: Path) -> None:
    done = unlisted("histogram", rows, *HISTOGRAM, "--count", "rows", "--rows-per-item", 2, "--format", "json")
    plan = json.loads(done.data)["plan"]
    assert (plan["count"], plan["rows_per_item"]) == ("rows", 2)


def test_rho_in_place_of_epsilon(rows: Path) -> None:
    budget = ("--user", "user", "--item", "dish", "--rho", "0.5", "--delta", "1e-9")
    found = json.loads(unlisted("histogram", rows, *budget, "--items-per-user", 3, "--format", "json").data)
    assert found["guarantee"]["rho"] <= 0.5
    assert found["guarantee"]["at_delta"] == 2e-9


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_noise_can_be_chosen(rows: Path, noise: str) -> None:
    found = json.loads(unlisted("histogram", rows, *HISTOGRAM, "--noise", noise, "--format", "json").data)
    assert noise in found["plan"]["noise"].lower()


def test_neighbours_can_be_replaced(rows: Path) -> None:
    done = unlisted("histogram", rows, *HISTOGRAM, "--adjacency", "replace", "--format", "json")
    assert json.loads(done.data)["plan"]["adjacency"] == "replace"


def test_the_table_says_how_to_read_it_what_is_promised_and_what_is_missing(rows: Path) -> None:
    lines = unlisted("histogram", rows, *HISTOGRAM).text.splitlines()
    assert "95 % interval for the bounded count, given that the item was released" in lines[0]
    assert lines[-2].startswith("Guarantee: ")
    assert "are held back" in lines[-1]
