"""Questions that fail in a shell are counted and freeze, and the owner thaws; and sources that are shared."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.shell import unlisted
from tests.cli.test_ledger_verbs import SHARE, TOTAL, ask, refused, said, shown
from tests.fixtures.kitchen import SHELL, cooked

from unlisted.errors import UncertainError
from unlisted.ledger.store import Store


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    place = tmp_path / "cooked.parquet"
    pq.write_table(cooked(), place, compression="none", use_dictionary=False)
    return place


@pytest.fixture
def url(tmp_path: Path) -> str:
    place = str(tmp_path / "budget.db")
    said("dataset", "create", "kitchen", "--ledger", place, *TOTAL, "--data-version", "1", "--failures", 5)
    said("account", "create", "ads", "--ledger", place, "--dataset", "kitchen", *SHARE, "--failures", 2)
    return place


@pytest.fixture
def frozen(url: str, rows: Path) -> str:
    """A ledger whose account has an answer and then failed twice: its file lost the rows, not the schema."""
    assert ask("histogram", rows, url).code == 0
    whole = rows.read_bytes()
    rows.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    for k in (3, 4):
        assert unlisted("top", rows, *_words(url), "-k", k).code == 4
    rows.write_bytes(whole)
    return url


def _words(url: str) -> tuple[object, ...]:
    return (*SHELL, "--ledger", url, "--account", "ads", "--format", "json")


def test_a_frozen_account_is_refused_with_three(frozen: str, rows: Path) -> None:
    told = refused("top", rows, *_words(frozen), "-k", 5, code=3)
    assert told.startswith("unlisted: The account 'ads' is frozen: 2 questions failed after data was touched")
    # What was answered before is had again.
    assert ask("histogram", rows, frozen).code == 0
    assert shown(frozen)["failures"] == {"seen": 2, "allowed": 2, "frozen": True}
    assert "2 of 2 failures after data was touched: FROZEN" in said("account", "show", "ads", "--ledger", frozen)
    assert said("account", "list", "--ledger", frozen).rstrip().endswith("frozen")
    assert "2 of 5 failures" in said("dataset", "show", "kitchen", "--ledger", frozen)
    listed = said("ledger", "history", "--ledger", frozen).splitlines()
    assert [line.rpartition("  ")[2] for line in listed if "forfeited" in line] == ["failure 1", "failure 2"]
    preview = said(
        "preview", "top", "-k", 5, "--rho", 1, "--delta", "1e-9", "--ledger", frozen, "--account", "ads"
    )
    assert "The account 'ads' is frozen: the question does not fit." in preview


def test_thawed_it_goes_on(frozen: str, rows: Path) -> None:
    thawed = said("account", "thaw", "ads", "--ledger", frozen)
    assert thawed == (
        "Account 'ads' is thawed (2 failures looked at): 0 of 2 failures after data was touched: 2 more may.\n"
    )
    assert unlisted("top", rows, *_words(frozen), "-k", 5).code == 0
    assert "none to thaw" in refused("account", "thaw", "ads", "--ledger", frozen)
    assert "2 failures looked at" in said("dataset", "thaw", "kitchen", "--ledger", frozen)
    assert "adds up" in said("ledger", "verify", "--ledger", frozen)
    assert '"kind":"thawed"' in said("ledger", "export", "--ledger", frozen)


def test_how_many_may_fail_is_the_owners_to_change(frozen: str) -> None:
    assert "2 of 4 failures" in said("account", "failures", "ads", 4, "--ledger", frozen)
    assert "2 of 9 failures" in said("dataset", "failures", "kitchen", 9, "--ledger", frozen)
    assert "fewer than the 9" in refused("account", "failures", "ads", 9, "--ledger", frozen)
    assert "--failures = 0" in refused("dataset", "failures", "kitchen", 0, "--ledger", frozen)
    found = json.loads(said("dataset", "show", "kitchen", "--ledger", frozen, "--format", "json"))
    assert found["failures"] == {"seen": 2, "allowed": 9, "frozen": False}
    assert "  4 failures" in said("ledger", "history", "--ledger", frozen)


def test_a_data_set_that_is_frozen_says_so(frozen: str, rows: Path) -> None:
    said("account", "failures", "ads", 1, "--ledger", frozen)
    said("dataset", "failures", "kitchen", 2, "--ledger", frozen)
    assert "The data set is frozen with all its accounts" in said("account", "show", "ads", "--ledger", frozen)
    assert "frozen too: unlisted dataset thaw" in said("account", "thaw", "ads", "--ledger", frozen)
    assert "unlisted dataset thaw" in refused("top", rows, *_words(frozen), "-k", 5, code=3)


def test_a_source_that_another_data_set_has(url: str, rows: Path) -> None:
    said("dataset", "create", "one", "--ledger", url, *TOTAL, "--source", rows)
    again = ("dataset", "create", "two", "--ledger", url, *TOTAL, "--source", rows)
    assert "'one' has it" in refused(*again)
    done = unlisted(*again, "--shares-source")
    assert (done.code, "about the same source as 'one'" in done.said) == (0, True)
    shown_one = unlisted("dataset", "show", "one", "--ledger", url)
    assert "about the same source as 'two'" in shown_one.said


def test_a_commit_that_nobody_knows_of_leaves_with_four(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: object, **__: object) -> None:
        raise UncertainError.because("the server cannot be reached")

    monkeypatch.setattr(Store, "writing", lost)
    done = unlisted("account", "close", "ads", "--ledger", url)
    assert (done.code, "may or may not have been booked" in done.said) == (4, True)
