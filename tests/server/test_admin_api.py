"""The API of admins: what it changes is in the ledger with the key that changed it, and nobody else may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import pyarrow as pa
import pytest
from tests.ledger.books import charge
from tests.server.asgi import Inside
from tests.server.console.test_attacks import Stranger
from tests.server.test_openapi import ADMIN

import unlisted as ul
from unlisted.errors import ChargedFailureError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.verify import verify
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing, key_id
from unlisted.server.config import Config, Offer

WITH_A_BODY = [one for one in ADMIN if one[0] in ("PUT", "POST") and not one[1].endswith("/thaw")]
TOTAL = ul.Budget(rho=1, delta="1e-6")
ROWS = pa.table({"user": ["a"], "query": ["tea"]})
OFFER = Offer("searches", ROWS, "user", ("query",), TOTAL, items_per_user=1)
TOP = {"question": "top", "items": ["query"], "k": 1, "epsilon": "0.1", "delta": 1e-9}
HISTOGRAM = {"question": "histogram", "items": ["query"], "epsilon": "0.1", "delta": 1e-9, "items_per_user": 1}


@dataclass(frozen=True)
class Served:
    """A service with an admin and an analyst."""

    ledger: Ledger
    admin: Inside
    analyst: Inside

    def ask(self, method: str, path: str, body: object = None) -> dict:
        reply = self.admin.send(method, f"/v1/admin/{path}", body)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def refused(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        reply = self.admin.send(method, f"/v1/admin/{path}", body)
        assert reply.headers["content-type"] == "application/problem+json", reply.text
        return reply.status_code, reply.json()["detail"]

    def preview(self, question: dict) -> dict:
        return self.analyst.post("/v1/datasets/searches/preview", question).json()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Ledger(tmp_path / "budget.db") as ledger:
        app = make_app(Config("unused", {"searches": OFFER}, secure_cookies=False), ledger)
        ledger.open("ads", dataset="searches", budget=TOTAL)
        ledger.open("hidden", dataset="elsewhere", budget=TOTAL)
        ring = KeyRing(ledger)
        admin, analyst = ring.create("Root", "admin"), ring.create("Ana", granted={"searches": "ads"})
        yield Served(ledger, Inside(app, admin), Inside(app, analyst))


@pytest.mark.parametrize(("method", "path"), ADMIN)
def test_an_analyst_may_do_none_of_it(served: Served, method: str, path: str):
    place = path.format(name="searches", account="ads", key=key_id(served.analyst.key))
    before = len(served.ledger.history()), len(list(served.ledger.export_lines()))
    for body in (None, {"rubbish": 1}):
        reply = served.analyst.send(method, place, body)
        assert (reply.status_code, reply.json()["type"]) == (403, "urn:unlisted:problem:not-allowed")
    assert served.analyst.send(method, place, key="ul_wrong").status_code == 401
    assert (len(served.ledger.history()), len(list(served.ledger.export_lines()))) == before


@pytest.mark.parametrize(("method", "path"), WITH_A_BODY)
@pytest.mark.parametrize("body", [[], 7, {"rubbish": 1}, {"failures": -1, "days": 0, "delta": "x", "kinds": []}])
def test_rubbish_is_refused_and_changes_nothing(served: Served, method: str, path: str, body: object):
    place = path.format(name="searches", account="ads", key=key_id(served.analyst.key))
    before = list(served.ledger.export_lines())
    assert served.admin.send(method, place, body).status_code == 422
    assert list(served.ledger.export_lines()) == before


def test_a_policy_is_said_foreseen_kept_and_lifted(served: Served):
    assert [one["policy"] for one in served.ask("GET", "datasets")] == [None]
    assert served.preview(HISTOGRAM)["refusal"] is None
    ruled = {
        "kinds": ["top"],
        "question": {"epsilon": 4, "delta": "1e-8"},
        "day": {"epsilon": "0.5", "delta": 1e-8},
    }
    assert served.ask("PUT", "datasets/searches/policy", ruled)["policy"]["kinds"] == ["top"]
    assert "allows no other questions" in served.preview(HISTOGRAM)["refusal"]
    assert "allows one question to cost at most" in served.preview({**TOP, "epsilon": 4})["refusal"]
    assert " a day, of which only " in served.preview({**TOP, "epsilon": "0.9"})["refusal"]
    assert served.preview(TOP)["refusal"] is None
    for question, status in ((HISTOGRAM, 422), ({**TOP, "epsilon": 4}, 402), ({**TOP, "epsilon": "0.9"}, 402)):
        reply = served.analyst.post("/v1/datasets/searches/releases", question)
        # It is refused in the words that the preview had.
        assert (reply.status_code, reply.json()["detail"]) == (status, served.preview(question)["refusal"])
    assert served.ledger.dataset("searches").used.loss == 0
    assert served.analyst.post("/v1/datasets/searches/releases", TOP).status_code == 200
    assert served.refused("PUT", "datasets/searches/policy", {})[0] == 422
    assert served.ask("DELETE", "datasets/searches/policy")["policy"] is None
    assert served.preview(HISTOGRAM)["refusal"] is None
    admin = key_id(served.admin.key)
    ruled_by = [one.body.get("by") for one in served.ledger.history("searches") if one.kind == "ruled"]
    assert ruled_by == [admin, admin]
    assert verify(served.ledger) == []


def test_the_console_says_that_a_policy_will_refuse(served: Served):
    served.ask("PUT", "datasets/searches/policy", {"kinds": ["top"]})
    ana = Stranger(served.analyst.app)
    ana.sign_in(served.analyst.key)
    page = ana.get("/datasets/searches/ask")
    assert "The owner of the data set allows no other questions" in page.text
    assert re.search(r"<button disabled>Ask, for at most", page.text)
    served.ask("DELETE", "datasets/searches/policy")
    assert re.search(r"<button>Ask, for at most", ana.get("/datasets/searches/ask").text)


def test_accounts_are_opened_listed_and_closed(served: Served):
    told = {"account": "ops", "dataset": "searches", "epsilon": "0.5", "delta": "1e-6"}
    monthly = {"period": "month", "period_budget": {"epsilon": "0.1", "delta": "1e-7"}, "failures": 2}
    opened = served.ask("POST", "accounts", told | monthly)
    assert (opened["account"], opened["failures"]["allowed"]) == ("ops", 2)
    assert served.ask("POST", "accounts", told | monthly) == opened
    assert [one["account"] for one in served.ask("GET", "accounts")] == ["ads", "ops"]
    assert served.refused("POST", "accounts", told | {"dataset": "new"})[0] == 404
    assert served.refused("POST", "accounts", {**told, "epsilon": None})[0] == 422
    assert served.refused("POST", "accounts", {**told, "rho": 1})[0] == 422
    assert served.ask("PUT", "accounts/ops/failures", {"failures": 1})["failures"]["allowed"] == 1
    assert served.ask("DELETE", "accounts/ops")["closed"]
    assert served.refused("DELETE", "accounts/ops")[0] == 422
    for nobody in ("nobody", "hidden"):
        assert served.refused("DELETE", f"accounts/{nobody}") == (404, "There is no such account here.")
    admin = key_id(served.admin.key)
    by = {one.kind: one.body.get("by") for one in served.ledger.history("searches") if one.account == "ops"}
    assert by == {"opened": admin, "allowed": admin, "closed": admin}


def fails() -> NoReturn:
    raise ChargedFailureError


def test_what_is_frozen_is_thawed(served: Served):
    assert served.refused("POST", "accounts/ads/thaw")[0] == 422
    served.ask("PUT", "accounts/ads/failures", {"failures": 1})
    served.ask("PUT", "datasets/searches/failures", {"failures": 2})
    account = served.ledger.account("ads")
    (source,) = (one.source for one in served.ledger.datasets() if one.name == "searches")
    with pytest.raises(ChargedFailureError):
        account.pay(charge("q", source=source), fails)
    assert served.ask("GET", "accounts")[0]["failures"]["frozen"]
    assert not served.ask("POST", "accounts/ads/thaw")["failures"]["frozen"]
    assert served.ask("GET", "datasets")[0]["failures"]["seen"] == 1
    assert served.ask("POST", "datasets/searches/thaw")["failures"]["seen"] == 0


def test_keys_are_made_granted_rotated_and_revoked(served: Served):
    made = served.ask("POST", "keys", {"name": "Bo", "grants": {"searches": "ads"}, "days": 30})
    assert served.admin.get("/v1/datasets", key=made["key"]).json()[0]["account"] == "ads"
    (listed,) = [one for one in served.ask("GET", "keys") if one["id"] == made["id"]]
    assert (listed["name"], listed["role"], listed["grants"]) == ("Bo", "analyst", {"searches": "ads"})
    assert made["key"] not in str(served.ask("GET", "keys"))
    place = f"keys/{made['id']}"
    assert served.ask("DELETE", f"{place}/grants/searches")["grants"] == {}
    assert served.admin.get("/v1/datasets", key=made["key"]).json() == []
    assert served.ask("PUT", f"{place}/grants/searches", {"account": "ads"})["grants"] == {"searches": "ads"}
    assert served.refused("PUT", f"{place}/grants/searches", {"account": "hidden"})[0] == 422
    rotated = served.ask("POST", f"{place}/rotate", {})
    assert rotated["id"] == made["id"]
    assert served.admin.get("/v1/datasets", key=made["key"]).status_code == 401
    assert served.ask("DELETE", place)["revoked"] is not None
    assert served.admin.get("/v1/datasets", key=rotated["key"]).status_code == 401
    assert served.refused("DELETE", "keys/0123456789ab")[0] == 422
    assert verify(served.ledger) == []
