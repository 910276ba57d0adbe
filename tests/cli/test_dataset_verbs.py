"""`unlisted dataset list` and `dataset policy`: what there is, and what its owner lets be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.shell import Done, unlisted
from tests.fixtures.kitchen import cooked

from unlisted.ledger.ledger import Ledger


@pytest.fixture
def url(tmp_path: Path) -> str:
    place = str(tmp_path / "budget.db")
    for name, more in (("kitchen", ("--data-version", "november")), ("garden", ())):
        done = unlisted("dataset", "create", name, "--ledger", place, "--rho", 1, "--delta", "1e-6", *more)
        assert done.code == 0, done.said
    unlisted("account", "create", "ads", "--ledger", place, "--dataset", "kitchen", "--rho", 1, "--delta", "1e-6")
    return place


def ruled(url: str, *words: object) -> Done:
    return unlisted("dataset", "policy", "kitchen", "--ledger", url, *words)


def spent(url: str) -> bool:
    with Ledger(url) as book:
        return book.dataset("kitchen").used.loss > 0


@pytest.fixture
def ask(url: str, tmp_path: Path):
    pq.write_table(cooked(), tmp_path / "kitchen.parquet")

    def asked(verb: str, *words: object) -> Done:
        source = str(tmp_path / "kitchen.parquet")
        return unlisted(
            verb, source, *words, "--user", "user", "--item", "dish", "--ledger", url, "--account", "ads"
        )

    return asked


def test_data_sets_are_listed_with_their_versions(url: str):
    lines = unlisted("dataset", "list", "--ledger", url).text.splitlines()
    assert [line.split()[0] for line in lines] == ["garden", "kitchen"]
    assert ["version november" in line for line in lines] == [False, True]
    listed = json.loads(unlisted("dataset", "list", "--ledger", url, "--format", "json").text)
    assert [(one["dataset"], one["version"], one["policy"]) for one in listed] == [
        ("garden", None, None),
        ("kitchen", "november", None),
    ]


def test_a_policy_is_said_shown_and_lifted(url: str):
    assert "any question that fits the budget" in ruled(url).text
    said = ruled(
        url, "--question", "0.5,1e-8", "--day", "1,1e-7", "--kind", "top", "--least-items-per-user", 3
    ).text
    for line in ("one question may cost at most ρ", "of one day may cost at most ρ", "only: top", "is 3 or more"):
        assert line in said
    assert ruled(url).text == said
    (kitchen,) = [
        one
        for one in json.loads(unlisted("dataset", "list", "--ledger", url, "--format", "json").text)
        if one["dataset"] == "kitchen"
    ]
    assert kitchen["policy"]["kinds"] == ["top"]
    assert "any question" in ruled(url, "--lift").text
    with Ledger(url) as book:
        assert [one.kind for one in book.history("kitchen")].count("ruled") == 2


def test_what_a_policy_forbids_is_refused_before_data_is_touched(url: str, ask):
    ruled(url, "--question", "0.5,1e-8", "--kind", "top", "--least-items-per-user", 3)
    cheap = ("--epsilon", "0.1", "--delta", "1e-9")
    for verb, words, said in (
        ("histogram", ("--items-per-user", 3, *cheap), "The owner of the data set allows no other questions"),
        ("top", ("-k", 1, "--epsilon", 1, "--delta", "1e-9"), "allows one question to cost at most"),
    ):
        done = ask(verb, *words)
        assert done.code != 0
        assert said in done.said
        assert "Nothing was charged" in done.said
    assert not spent(url)
    assert ask("top", "-k", 1, *cheap).code == 0
    assert spent(url)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--question", "1"), "an ε and a δ"),
        (("--question", "much,1e-8"), "epsilon"),
        (("--day", "1,1e-8,3"), "delta"),
        (("--kind", "sum"), "one of: "),
        (("--least-items-per-user", 0), "least_items_per_user"),
        (("--lift", "--kind", "top"), "given alone"),
    ],
)
def test_what_is_no_policy_is_refused(url: str, words: tuple[object, ...], said: str):
    done = ruled(url, *words)
    assert (done.code, said in done.said) == (2, True), done.said
    assert "any question" in ruled(url).text
