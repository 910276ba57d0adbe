"""Streams over the API: the latest release and a chart, for whoever has a grant on their data set."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from tests.server.asgi import Inside

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer, StreamOffer
from unlisted.streams.stream import Stream

BUDGET = ul.Budget(rho=1, delta="1e-6")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    stream = Stream.create(
        tmp_path / "stream", rounds=4, unit="event", items_per_event=1, budget=ul.Budget(rho=2, delta="1e-6")
    )
    stream.push({"soup": 500, "tea": 400})
    return tmp_path / "stream"


@pytest.fixture
def inside(tmp_path: Path, folder: Path) -> Iterator[Inside]:
    rows = pa.table({"user": ["a"], "query": ["soup"]})
    offers = {name: Offer(name, rows, "user", ("query",), BUDGET) for name in ("searches", "others")}
    streams = {
        "running": StreamOffer("running", folder, "searches", "Soups by the hour.", outside_budget=True),
        "hidden": StreamOffer("hidden", folder, "others", outside_budget=True),
        "lost": StreamOffer("lost", tmp_path / "nowhere", "searches", outside_budget=True),
    }
    with Ledger(tmp_path / "budget.db") as ledger:
        app = make_app(Config(str(tmp_path / "budget.db"), offers, streams), ledger)
        ledger.open("ads", dataset="searches", budget=BUDGET)
        yield Inside(app, KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))


def test_the_latest_release_is_shown(inside: Inside, folder: Path):
    found = inside.get("/v1/streams/running").json()
    assert (found["round"], found["rounds"], found["latest"]) == (1, 4, 1)
    assert found["release"]["rows"] == Stream.open(folder).release(1).rows
    assert {row["item"] for row in found["release"]["rows"]} == {"soup", "tea"}


def test_a_chart_is_drawn(inside: Inside):
    found = inside.get("/v1/streams/running/chart")
    assert found.headers["content-type"].startswith("image/svg+xml")
    assert found.text.startswith("<svg")


def test_a_stream_of_another_data_set_is_not_there(inside: Inside):
    for ending in ("", "/chart"):
        hidden, absent = inside.get(f"/v1/streams/hidden{ending}"), inside.get(f"/v1/streams/nowhere{ending}")
        assert hidden.status_code == absent.status_code == 404
        assert hidden.content == absent.content


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_stream_that_an_account_paid_for_is_no_release(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
):
    place = str(tmp_path / "paid.db") if kind == "sqlite" else request.getfixturevalue("ledger_url")
    rows = pa.table({"user": [f"user {number}" for number in range(300)], "query": ["soup"] * 300})
    question = {"question": "top", "items": ["query"], "k": 1, "epsilon": 0.1, "delta": 1e-8}
    with Ledger(place) as ledger:
        account = ledger.open("clinic", dataset="visits", budget=BUDGET)
        offers = {"visits": Offer("visits", rows, "user", ("query",), BUDGET)}
        app = make_app(Config(place, offers), ledger)
        inside = Inside(app, KeyRing(ledger).create("Ana", "analyst", {"visits": "clinic"}))
        assert inside.post("/v1/datasets/visits/releases", question).status_code == 200
        budget = ul.Budget(rho="0.1", delta="1e-7")
        about = {"user": "user", "unit": "user", "rounds_per_user": 1, "source": "a data frame"}
        folder = tmp_path / "paid"
        Stream.create(folder, rounds=4, items_per_event=1, budget=budget, account=account, **about)
        asked, paid = [one.number for one in ledger.history("visits") if one.kind == "settled"]
        listed = inside.get("/v1/datasets/visits/releases?most=1")
        assert (listed.status_code, [one["entry"] for one in listed.json()]) == (200, [asked])
        assert inside.get(f"/v1/datasets/visits/releases/{asked}").status_code == 200
        for ending in ("", "/receipt"):
            assert inside.get(f"/v1/datasets/visits/releases/{paid}{ending}").status_code == 404


def test_a_folder_that_is_lost_says_so_without_saying_where(inside: Inside, tmp_path: Path):
    found = inside.get("/v1/streams/lost")
    assert found.status_code == 503
    assert str(tmp_path) not in found.text


class TestWhoPaidForAStream:
    """A service starts with streams that their data set's accounts paid for, unless its owner says otherwise."""

    ABOUT: ClassVar = {"unit": "user", "rounds_per_user": 1, "source": "a data frame"}

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[Ledger]:
        with Ledger(tmp_path / "paid.db") as ledger:
            start(ledger)
            yield ledger

    def test_one_that_was_paid_for_is_shown(self, ledger: Ledger, tmp_path: Path):
        account = ledger.open("clinic", dataset="visits", budget=BUDGET)
        pushed(tmp_path / "stream", account=account, **self.ABOUT)
        inside = start(ledger, tmp_path / "stream")
        assert inside.get("/v1/streams/running").json()["round"] == 1

    def test_one_that_nobody_paid_for_is_refused_with_the_way_out(self, ledger: Ledger, tmp_path: Path):
        pushed(tmp_path / "stream", **self.ABOUT)
        said = (
            "an account of the data set 'visits' paid for in this ledger.+ outside_budget = true in .streams.runn"
        )
        with pytest.raises(InvalidArgumentError, match=said) as refusal:
            start(ledger, tmp_path / "stream")
        assert refusal.value.argument == "streams.running.folder"
        inside = start(ledger, tmp_path / "stream", outside_budget=True)
        assert inside.get("/v1/streams/running").json()["round"] == 1

    def test_another_data_set_or_ledger_does_not_pay_for_it(self, ledger: Ledger, tmp_path: Path):
        with Ledger(tmp_path / "others.db") as others:
            start(others)
            payers = {
                "set": ledger.open("doctors", dataset="others", budget=BUDGET),
                "ledger": others.open("clinic", dataset="visits", budget=BUDGET),
            }
            for name, account in payers.items():
                pushed(tmp_path / name, account=account, **self.ABOUT)
                with pytest.raises(InvalidArgumentError, match="paid for in this ledger"):
                    start(ledger, tmp_path / name)

    def test_what_was_paid_for_one_stream_does_not_pay_for_another(self, ledger: Ledger, tmp_path: Path):
        account = ledger.open("clinic", dataset="visits", budget=BUDGET)
        pushed(tmp_path / "paid", account=account, **self.ABOUT)
        pushed(tmp_path / "other", **{**self.ABOUT, "rounds_per_user": 2})
        shutil.copy(tmp_path / "paid" / "ledger.json", tmp_path / "other")
        with pytest.raises(InvalidArgumentError, match="paid for in this ledger"):
            start(ledger, tmp_path / "other")

    def test_one_that_protects_less_is_refused(self, ledger: Ledger, tmp_path: Path):
        pushed(tmp_path / "stream")
        with pytest.raises(InvalidArgumentError, match=r"protects user in 1 day.+ that protects 'user', as the"):
            start(ledger, tmp_path / "stream")

    def test_one_of_a_new_data_set_is_refused_and_nothing_is_written(self, tmp_path: Path):
        pushed(tmp_path / "stream", **self.ABOUT)
        with Ledger(tmp_path / "new.db") as ledger:
            with pytest.raises(InvalidArgumentError, match="paid for in this ledger"):
                start(ledger, tmp_path / "stream")
            assert ledger.history() == []

    @pytest.mark.parametrize("broken", ["settings.json", "ledger.json"])
    def test_a_folder_that_is_lost_or_torn_is_named(self, ledger: Ledger, tmp_path: Path, broken: str):
        account = ledger.open("clinic", dataset="visits", budget=BUDGET)
        pushed(tmp_path / "stream", account=account, **self.ABOUT)
        (tmp_path / "stream" / broken).write_bytes(b"torn")
        for folder in (tmp_path / "nowhere", tmp_path / "stream"):
            with pytest.raises(InvalidArgumentError, match="the folder of a stream") as refusal:
                start(ledger, folder)
            assert refusal.value.value == str(folder)


def pushed(folder: Path, **how: Any) -> None:
    """Make a stream of one round."""
    how = {
        "unit": "event",
        "round_length": "1 day",
        "items_per_event": 1,
        "budget": ul.Budget(rho="0.1", delta="1e-7"),
        **how,
    }
    stream = Stream.create(folder, rounds=4, **how)
    stream.push(pa.table({"user": ["a"], "item": ["soup"]}))


def start(ledger: Ledger, folder: Path | None = None, *, outside_budget: bool = False) -> Inside:
    """Start a service with two data sets, and perhaps a stream."""
    rows = pa.table({"user": ["a"], "query": ["soup"]})
    offers = {name: Offer(name, rows, "user", ("query",), BUDGET) for name in ("visits", "others")}
    offer = StreamOffer("running", folder, "visits", outside_budget=outside_budget) if folder else None
    app = make_app(Config("", offers, {} if offer is None else {"running": offer}), ledger)
    return Inside(app, KeyRing(ledger).create("Ada", "admin"))
