"""An account in Gaussian DP over HTTP and in the console: what it adds up is what everybody is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.server.asgi import Inside
from tests.server.console.test_attacks import Stranger

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer

BUDGET = ul.Budget(epsilon=2, delta="1e-7")
PLACE = "/v1/datasets/searches"
ASKED = {"question": "histogram", "items": ["query"], "epsilon": 0.5, "delta": 1e-9, "items_per_user": 3}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "budget.db") as book:
        yield book


@pytest.fixture
def config(tmp_path: Path) -> Config:
    rows = pa.table({"user": [f"user {n}" for n in range(600)], "query": ["tea"] * 600})
    pq.write_table(rows, tmp_path / "searches.parquet")
    source = str(tmp_path / "searches.parquet")
    offer = Offer("searches", source, "user", ("query",), BUDGET, items_per_user=3, version="1", kind="gaussian")
    return Config("unused", {"searches": offer}, secure_cookies=False)


@pytest.fixture
def service(config: Config, ledger: Ledger) -> Inside:
    app = make_app(config, ledger)
    ledger.open("ads", dataset="searches", budget=BUDGET)
    return Inside(app, KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}))


def test_a_question_is_planned_charged_and_told_in_what_its_account_adds_up(service: Inside, ledger: Ledger):
    total = service.get(f"{PLACE}/balance").json()
    assert (total["kind"], total["more_like_last"]) == ("gaussian", None)
    assert "rho" not in total["left"]
    planned = service.post(f"{PLACE}/preview", ASKED).json()
    released = service.post(f"{PLACE}/releases", ASKED).json()
    charged = ledger.account("ads").balance().account.used
    assert charged.accounting.name == "gaussian"
    # The same number at each place: what is planned is what is spent and charged.
    counted = planned["guarantee"]["mu_squared"]
    assert counted == released["spent"]["mu_squared"] == float(charged.guarantee().mu_squared)
    left = service.get(f"{PLACE}/balance").json()
    assert left["left"]["mu_squared"] == ledger.account("ads").balance().left.texts[0]
    # By the sum of ρ one question fewer would fit.
    by_mu = float(total["left"]["mu_squared"]) / float(charged.guarantee().mu_squared)
    assert left["more_like_last"] == int(by_mu) - 1 > 10


def test_the_console_speaks_of_mu_squared(service: Inside, config: Config, ledger: Ledger):
    assert service.post(f"{PLACE}/releases", ASKED).status_code == 200
    visitor = Stranger(service.app)
    visitor.sign_in(service.key)
    page = visitor.get("/").text
    assert "μ²" in page
    assert re.search(r"about \d+ more", page)
    assert "ρ" not in re.sub(r"<[^>]*>", "", page)
    # What is added up is fixed for life.
    other = {"searches": replace(config.datasets["searches"], kind="zcdp")}
    with pytest.raises(InvalidArgumentError, match=r"searches\.kind = .zcdp."):
        make_app(replace(config, datasets=other), ledger)
