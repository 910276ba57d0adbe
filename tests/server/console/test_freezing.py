"""Freeze and thaw in the console, attacked: nobody but an admin thaws, and nothing gets around a freeze."""

from __future__ import annotations

import html
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.server.console.test_attacks import Stranger, place_of
from tests.server.console.test_forms import QUESTION, Office, follow, office

from unlisted.ledger.verify import verify
from unlisted.server.auth import KeyRing

__all__ = ["office"]


def ask(one: Stranger, name: str, epsilon: str = "0.1") -> str:
    """Ask a question under a name, and return what the page says that the browser ends up on."""
    fields = {**QUESTION, "epsilon": epsilon, "request": name, "token": one.token}
    reply = one.post("/datasets/searches/answers", fields)
    while reply.status_code == 303:
        reply = one.get(place_of(reply).removeprefix("/console"))
    return html.unescape(reply.text)


def freeze(office: Office, one: Stranger) -> None:
    office.rows.damage()
    for number in range(3):
        assert "Not answered" in ask(one, f"fails {number}", f"0.{number + 1}")
    office.rows.mend()


def test_a_freeze_is_said_and_costs_nothing_more(office: Office):
    ana = office.visitor("ana")
    assert "tea" in ask(ana, "before", "2")
    freeze(office, ana)
    before = office.ledger.history()
    for path in ("/datasets/searches/ask", "/budget"):
        assert "frozen" in ana.get(path).text
    for name in ("new", "fails 0", "new"):
        assert "is frozen" in ask(ana, name, "1") or name == "fails 0"
    # What was paid for stays to be had, and is asked again for nothing.
    assert "tea" in ask(ana, "before again", "2")
    assert office.ledger.history() == before
    assert verify(office.ledger) == []


def test_an_analyst_cannot_thaw_by_any_form(office: Office):
    ana = office.visitor("ana")
    freeze(office, ana)
    before = office.ledger.history()
    for verb in ("thaw-account", "thaw-dataset", "allow-account", "allow-dataset", "open-account", "grant"):
        fields = {"account": "ads", "dataset": "searches", "failures": "99", "delta": "1e-6", "epsilon": "1"}
        reply = ana.post(f"/admin/{verb}", {**fields, "token": ana.token})
        assert reply.status_code == 403
        assert ana.get(f"/admin/{verb}").status_code in (404, 405)
    assert ana.get("/admin").status_code == 403
    assert office.ledger.history() == before
    assert "is frozen" in ask(ana, "after")


def test_an_admins_token_thaws_for_its_own_session_only(office: Office):
    ana, ada = office.visitor("ana"), office.visitor("ada")
    freeze(office, ana)
    for token in (ana.token, "", "0" * 64):
        assert ada.post("/admin/thaw-account", {"account": "ads", "token": token}).status_code == 403
    assert ana.post("/admin/thaw-account", {"account": "ads", "token": ada.token}).status_code == 403
    assert office.ledger.account("ads").balance().account.failures.frozen
    # A thaw by hand is one entry, however often its page is loaded.
    reply = ada.post("/admin/thaw-account", {"account": "ads", "token": ada.token})
    assert "3 failures were counted" in follow(ada, reply)
    follow(ada, reply)
    assert [one.kind for one in office.ledger.history()].count("thawed") == 1
    assert "tea" in ask(ana, "after", "0.9")


@pytest.mark.parametrize("name", ["", "nobody", "ads\x00", "../ads", "ads' OR 1=1 --"])
def test_a_thaw_of_what_is_not_there_changes_nothing(name: str, office: Office):
    ada = office.visitor("ada")
    before = office.ledger.history()
    for verb, field in (("thaw-account", "account"), ("thaw-dataset", "dataset"), ("allow-account", "account")):
        fields = {field: name, "failures": "5", "token": ada.token}
        reply = ada.post(f"/admin/{verb}", fields)
        assert "note bad" in ada.get(place_of(reply).removeprefix("/console")).text
    assert office.ledger.history() == before


@pytest.mark.parametrize("failures", ["-1", "0", "1e9", "9999999999", "3.5", "٣", "", "NaN", "1 OR 1"])
def test_how_many_may_fail_is_a_small_whole_number(failures: str, office: Office):
    ada = office.visitor("ada")
    for verb, field, name in (("allow-account", "account", "ads"), ("allow-dataset", "dataset", "searches")):
        fields = {field: name, "failures": failures, "token": ada.token}
        page = ada.get(place_of(ada.post(f"/admin/{verb}", fields)).removeprefix("/console")).text
        assert ("note bad" in page) or failures == "0"
    assert office.ledger.account("ads").balance().account.failures.allowed in (0, 3)


def test_a_key_of_another_account_does_not_thaw_the_first(office: Office):
    ana = office.visitor("ana")
    freeze(office, ana)
    office.ledger.open("ops", dataset="searches", budget=office.total)
    otto = Stranger(office.app)
    otto.sign_in(KeyRing(office.ledger).create("Otto", "analyst", {"searches": "ops"}))
    assert "tea" in ask(otto, "other", "0.8")
    # What others did, and how often they failed, is not an analyst's to see.
    assert "ads" not in otto.get("/budget").text
    assert "is frozen" in ask(ana, "mine", "0.8")


def test_questions_at_once_fail_no_more_often_than_may(office: Office, tmp_path: Path):
    visitors = [office.visitor("ana") for _ in range(6)]
    office.rows.damage()
    with ThreadPoolExecutor(6) as pool:
        pages = list(pool.map(lambda n: ask(visitors[n], f"at once {n}", f"0.1{n}"), range(6)))
    office.rows.mend()
    kinds = [one.kind for one in office.ledger.history()]
    assert kinds.count("forfeited") == kinds.count("reserved") >= 3
    # After as many failures as may, nothing begins any more; what had begun is withheld, and told like the others.
    third = [at for at, kind in enumerate(kinds) if kind == "forfeited"][2]
    assert "reserved" not in kinds[third:]
    assert office.ledger.account("ads").balance().account.failures.frozen
    assert sum("Not answered" in page for page in pages) == kinds.count("forfeited")
    assert sum("is frozen" in page for page in pages) == 6 - kinds.count("forfeited")
    assert verify(office.ledger) == []
