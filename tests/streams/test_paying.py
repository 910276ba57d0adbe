"""A stream is paid for once, when it is created, on an account of a ledger."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import unlisted as ul
from unlisted.errors import BudgetRefusedError, FrozenError, InvalidArgumentError, StreamError
from unlisted.query.charging import Charge
from unlisted.streams.stream import Stream

ASKED = {
    "rounds": 7,
    "unit": "event",
    "round_length": "1 day",
    "items_per_event": 1,
    "budget": ul.Budget(rho="0.3", delta="1e-7"),
}


def test_the_whole_life_is_charged_once(tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        stream = Stream.create(tmp_path / "s", **ASKED, account=account)
        spent = account.balance().account.used.guarantee()
        assert spent.rho >= stream.guarantee.rho > 0
        assert spent.rho - stream.guarantee.rho < stream.guarantee.rho / 1000
        release = stream.push({"a": 1000})
        stream.push({"a": 1000})
        assert account.balance().account.used.guarantee() == spent
        assert release.receipt()["ledger"]["account"] == "ads"
        assert Stream.open(tmp_path / "s").release(1).receipt()["ledger"] == release.receipt()["ledger"]


def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho="0.1", delta="1e-6"))
        with pytest.raises(BudgetRefusedError):
            Stream.create(tmp_path / "s", **ASKED, account=account)
        assert account.balance().account.used.guarantee().rho == 0
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_a_frozen_account_pays_for_no_stream_and_one_that_runs_goes_on(tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"), failures=1)
        stream = Stream.create(tmp_path / "s", **ASKED, account=account)
        cheap = ul.Guarantee(Fraction(1, 100), Fraction(1, 10**9))
        with pytest.raises(ZeroDivisionError):
            account.pay(Charge(cheap, "q", "user in 1 day", "add_remove", "a stream"), lambda: 1 / 0)
        before = ledger.history()
        with pytest.raises(FrozenError):
            Stream.create(tmp_path / "t", **ASKED, account=account)
        assert not (tmp_path / "t").exists()
        assert stream.push({"a": 1000}).receipt()["ledger"]["account"] == "ads"
        assert ledger.history() == before


def test_events_are_not_paid_from_a_data_set_of_users(tmp_path: Path) -> None:
    """One event's guarantee says nothing about a user with many."""
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        ledger.create_dataset("searches", budget=ul.Budget(rho=1, delta="1e-6"), unit="user")
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        said = r"unit = 'event' .+ protects 'user', which the data set 'searches' .+ unit user and rounds_per_user"
        with pytest.raises(InvalidArgumentError, match=said):
            Stream.create(tmp_path / "s", **ASKED, account=account)
        Stream.create(tmp_path / "s", **ASKED | {"unit": "user"}, account=account, rounds_per_user=2)


def test_a_condition_that_is_none_is_not_paid_for(tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        with pytest.raises(InvalidArgumentError, match="where = "):
            Stream.create(tmp_path / "s", **ASKED, account=account, where="day >=")
        assert account.balance().account.used.guarantee().rho == 0
        Stream.create(
            tmp_path / "s", **ASKED, account=account, where="\"a day\" >= DATE '2024-01-01' AND date < 3"
        )


def test_two_streams_are_two_charges(tmp_path: Path) -> None:
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        ledger.declare_version("searches", "1")
        for name in "st":
            Stream.create(tmp_path / name, **ASKED, account=account)
        assert account.balance().account.used.guarantee().rho > Stream.open(tmp_path / "s").guarantee.rho * 19 / 10


def test_a_stream_that_was_paid_for_and_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    """The ledger knows the question and charges nothing; another key for it would be a second release."""
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        ledger.declare_version("searches", "1")
        Stream.create(tmp_path / "s", **ASKED, account=account)
        spent = account.balance().account.used
        shutil.rmtree(tmp_path / "s")
        with pytest.raises(StreamError, match="its folder is gone"):
            Stream.create(tmp_path / "s", **ASKED, account=account)
        assert account.balance().account.used == spent
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_hours_and_days_are_different_events(tmp_path: Path) -> None:
    """What protects an hour says little about a day: a data set that pays for one does not pay for the other."""
    with ul.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.open("ads", dataset="searches", budget=ul.Budget(rho=1, delta="1e-6"))
        with pytest.raises(InvalidArgumentError, match=r"round_length is missing.+same events"):
            Stream.create(tmp_path / "s", **ASKED | {"round_length": None}, account=account)
        Stream.create(tmp_path / "hourly", **ASKED | {"round_length": "60 minutes"}, account=account)
        Stream.create(tmp_path / "also hourly", **ASKED | {"round_length": "1h"}, account=account)
        spent = account.balance().account.used
        with pytest.raises(InvalidArgumentError, match="user in 1 hour"):
            Stream.create(tmp_path / "daily", **ASKED, account=account)
        assert account.balance().account.used == spent
    assert not (tmp_path / "daily").exists()


def test_a_histogram_and_a_stream_share_a_data_set(tmp_path: Path) -> None:
    """Both protect the same users of the same source, so one budget pays for both, whichever came first."""
    rows = tmp_path / "visits.csv"
    rows.write_text("user,item\n" + "".join(f"{user},soup\n" for user in range(200)))
    for order in ("histogram first", "stream first"):
        with ul.Ledger(tmp_path / f"{order}.db") as ledger:
            account = ledger.open("ads", dataset="visits", budget=ul.Budget(rho=1, delta="1e-6"))
            budget = ul.Budget(rho="0.3", delta="1e-7")
            asked = {"rounds": 7, "unit": "user", "items_per_user": 3, "budget": budget, "source": str(rows)}

            def histogram(account: object = account, budget: object = budget) -> None:
                table = ul.table(rows, user="user")
                table.histogram("item", budget=budget, items_per_user=3, account=account).run()

            if order == "histogram first":
                histogram()
            stream = Stream.create(tmp_path / order, **asked, account=account)
            assert stream.push(rows) is not None
            if order == "stream first":
                histogram()
            assert 0.5 < float(account.balance().account.used.guarantee().rho) <= 0.61
