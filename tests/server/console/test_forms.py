"""Every form is answered by sending the browser on, and what was filled in is never lost."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.console.test_attacks import Stranger, place_of
from tests.server.test_frozen import Rows

import unlisted as ul
from unlisted.ledger.ledger import Ledger
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer
from unlisted.server.console import sessions
from unlisted.server.console.sessions import Notes, Sessions

TOTAL = ul.Budget(rho=10, delta="1e-5")
QUESTION = {"item": "query", "question": "histogram", "epsilon": "1", "delta": "1e-8", "items_per_user": "1"}
QUESTION |= {"k": "3", "fetch": "100", "count": "users", "noise": "auto", "max_label_bytes": "1024"}
QUESTION |= {"ranking": "gumbel", "counting": "auto", "method": "auto"}


class Office:
    """A service, its ledger, and somebody signed in as analyst and as admin."""

    total = TOTAL

    def __init__(self, ledger: Ledger, rows: Rows) -> None:
        offer = Offer("searches", str(rows.file), "user", ("query",), TOTAL, items_per_user=1, version="1")
        config = Config("unused", {"searches": offer}, secure_cookies=False, secret="a secret of this test")
        self.app, self.ledger, self.rows = make_app(config, ledger), ledger, rows
        ledger.open("ads", dataset="searches", budget=TOTAL)
        self.keys = {
            "ana": KeyRing(ledger).create("Ana", "analyst", {"searches": "ads"}),
            "ada": KeyRing(ledger).create("Ada", "admin"),
        }

    def visitor(self, who: str) -> Stranger:
        """Sign somebody in."""
        one = Stranger(self.app)
        assert one.sign_in(self.keys[who]).headers["location"] == "/console/"
        return one


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Ledger(tmp_path / "book.db") as ledger:
        yield Office(ledger, Rows(tmp_path / "rows.parquet"))


def follow(visitor: Stranger, reply: Any) -> str:
    """Go where a form sends the browser, and return what the page says."""
    return html.unescape(visitor.get(place_of(reply).removeprefix("/console")).text)


def test_every_form_sends_the_browser_on_and_loading_again_sends_nothing(office: Office):
    ada, ana = office.visitor("ada"), office.visitor("ana")
    key = office.keys["ana"].split("_")[1]
    sent = {
        "open-account": {"account": "new", "dataset": "searches", "epsilon": "1", "delta": "1e-7"},
        "allow-account": {"account": "new", "failures": "5"},
        "allow-dataset": {"dataset": "searches", "failures": "30"},
        "thaw-account": {"account": "new"},
        "thaw-dataset": {"dataset": "searches"},
        "create-key": {"name": "robot", "role": "analyst", "account": "new"},
        "grant": {"key": key, "account": "new"},
        "withdraw": {"key": key, "dataset": "searches"},
        "close-account": {"account": "new"},
        "revoke-key": {"key": key},
    }
    for verb, fields in sent.items():
        # Done or refused, wrong or right: the browser is sent on, and the page it gets changes nothing.
        for body in (fields, {}, dict.fromkeys(fields, "\x00")):
            reply = ada.post(f"/admin/{verb}", {**body, "token": ada.token})
            place, before = place_of(reply), office.ledger.history()
            for _ in range(2):
                assert ada.get(place.removeprefix("/console")).status_code == 200
            assert office.ledger.history() == before
    assert place_of(ana.post("/sign-out", {"token": ana.token})) == "/console/sign-in"


def test_a_new_key_is_said_once(office: Office):
    ada = office.visitor("ada")
    reply = ada.post("/admin/create-key", {"name": "robot", "role": "analyst", "token": ada.token})
    assert not re.search(r"ul_[0-9a-f]{12}_", place_of(reply))
    assert re.search(r"ul_[0-9a-f]{12}_\S{43}", follow(ada, reply))
    assert not re.search(r"ul_[0-9a-f]{12}_", follow(ada, reply))


def test_what_an_admin_filled_in_comes_back_with_what_is_wrong(office: Office):
    ada = office.visitor("ada")
    fields = {"account": "<b>team", "dataset": "searches", "loss": "minus one", "delta": "1e-7", "period": "month"}
    fields |= {"period_delta": "1e-8", "period_epsilon": "0.25", "failures": "7"}
    said = follow(ada, ada.post("/admin/open-account", {**fields, "token": ada.token}))
    assert "is not allowed" in said
    for value in ("<b>team", "minus one", "1e-8", "0.25", "7"):
        assert f'value="{value}"' in said
    assert "<option selected>month</option>" in said
    assert [one.name for _, one in office.ledger.accounts()] == ["ads"]


def test_an_admin_opens_an_account_with_an_allowance(office: Office):
    ada = office.visitor("ada")
    fields = {"account": "team", "dataset": "searches", "loss": "2", "delta": "1e-6", "token": ada.token}
    fields |= {"period": "month", "period_loss": "0.5", "period_delta": "1e-7"}
    assert "The account team is open" in follow(ada, ada.post("/admin/open-account", fields))
    terms = office.ledger.account("team").balance().account.terms
    assert (terms.period, terms.period_loss) == ("month", "0.5")
    assert "0.5 each month" in ada.get("/admin").text
    # One without the other is refused, and opens nothing.
    for missing in ("period", "period_delta", "period_loss"):
        again = {name: value for name, value in fields.items() if name != missing} | {"account": "other"}
        assert "note bad" in follow(ada, ada.post("/admin/open-account", again))
    assert [one.name for _, one in office.ledger.accounts()] == ["ads", "team"]


def end_sessions(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all sessions too old."""
    monkeypatch.setattr(sessions, "LONGEST", -1)


@pytest.mark.parametrize("form", ["ask", "answers"])
def test_a_question_outlives_its_session(form: str, office: Office, monkeypatch: pytest.MonkeyPatch):
    ana = office.visitor("ana")
    before = office.ledger.history()
    fields = {**QUESTION, "where": "query = 'a <b>'", "epsilon": "0.7", "token": ana.token}
    end_sessions(office, monkeypatch)
    place = place_of(ana.post(f"/datasets/searches/{form}", fields))
    assert re.fullmatch(r"/console/sign-in\?ended=1&dataset=searches&draft=[\w-]+", place)
    said = ana.get(place.removeprefix("/console"))
    assert "Your session has ended" in said.text
    assert "comes back as you filled it in" in said.text
    monkeypatch.undo()
    draft = place.rpartition("=")[2]
    token = re.search(r'name="token" value="([0-9a-f]{64})"', said.text)
    ana.cookies |= dict(said.cookies)
    assert token is not None
    again = ana.post(
        "/sign-in", {"key": office.keys["ana"], "dataset": "searches", "draft": draft, "token": token[1]}
    )
    page = follow(ana, again)
    assert "query = 'a <b>'</textarea>" in page
    assert 'value="0.7"' in page
    assert office.ledger.history() == before


def test_an_admins_form_outlives_its_session(office: Office, monkeypatch: pytest.MonkeyPatch):
    ada = office.visitor("ada")
    end_sessions(office, monkeypatch)
    fields = {"account": "new team", "dataset": "searches", "epsilon": "0.3", "delta": "1e-7", "token": ada.token}
    place = place_of(ada.post("/admin/open-account", fields))
    said = ada.get(place.removeprefix("/console"))
    monkeypatch.undo()
    token = re.search(r'name="token" value="([0-9a-f]{64})"', said.text)
    assert token is not None
    body = {"key": office.keys["ada"], "draft": place.rpartition("=")[2], "token": token[1]}
    page = follow(ada, ada.post("/sign-in", body))
    assert "Your session ended before this was done" in page
    assert 'value="new team"' in page
    assert [one.name for _, one in office.ledger.accounts()] == ["ads"]


def test_a_form_of_another_is_neither_shown_nor_used_up(office: Office, monkeypatch: pytest.MonkeyPatch):
    ana, ada = office.visitor("ana"), Stranger(office.app)
    secret = "query = 'only Ana knows'"
    end_sessions(office, monkeypatch)
    place = place_of(ana.post("/datasets/searches/ask", {**QUESTION, "where": secret, "token": ana.token}))
    monkeypatch.undo()
    draft = place.rpartition("=")[2]
    page = ada.get("/sign-in").text
    token = re.search(r'name="token" value="([0-9a-f]{64})"', page)
    assert token is not None
    body = {"key": office.keys["ada"], "dataset": "searches", "draft": draft, "token": token[1]}
    assert place_of(ada.post("/sign-in", body)) == "/console/"
    assert "only Ana knows" not in ada.get(f"/datasets/searches/ask?draft={draft}").text
    assert "only Ana knows" in html.unescape(
        office.visitor("ana").get(f"/datasets/searches/ask?draft={draft}").text
    )


def test_a_preview_of_an_ended_session_says_so(office: Office, monkeypatch: pytest.MonkeyPatch):
    ana = office.visitor("ana")
    end_sessions(office, monkeypatch)
    reply = ana.post("/datasets/searches/ask/preview", {**QUESTION, "token": ana.token})
    assert reply.status_code == 401
    assert "Your session has ended" in reply.text


def test_a_question_is_asked_once_however_often_it_is_sent(office: Office):
    ana = office.visitor("ana")
    fields = {**QUESTION, "request": "one and the same", "token": ana.token}
    places = {place_of(ana.post("/datasets/searches/answers", fields)) for _ in range(3)}
    assert places == {"/console/datasets/searches/asked/one%20and%20the%20same"}
    answer = place_of(ana.get("/datasets/searches/asked/one%20and%20the%20same"))
    assert "tea" in ana.get(answer.removeprefix("/console")).text
    assert [one.kind for one in office.ledger.history()].count("reserved") == 1


def test_a_lost_question_is_said_where_people_look(office: Office):
    ana = office.visitor("ana")
    assert "charged and not answered" not in ana.get("/").text
    office.rows.damage()
    page = follow(ana, ana.post("/datasets/searches/answers", {**QUESTION, "request": "lost", "token": ana.token}))
    office.rows.mend()
    assert "Not answered" in page
    assert "stays spent" in page
    for path in ("/", "/history", "/history/searches"):
        said = ana.get(path).text
        assert "charged and not answered" in said
        assert "histogram of query" in said, "which question it was"
    assert office.keys["ana"].split("_")[1] in ana.get("/history").text, "and who asked it"
    # What was asked comes back, to be looked at before it is paid for again.
    assert 'value="1e-8"' in ana.get("/datasets/searches/ask?draft=lost").text


def test_somebody_elses_question_is_not_there(office: Office):
    ana, ada = office.visitor("ana"), office.visitor("ada")
    ana.post("/datasets/searches/answers", {**QUESTION, "request": "mine", "token": ana.token})
    assert ada.get("/datasets/searches/asked/mine").status_code == 404
    assert ana.get("/datasets/searches/asked/nothing").status_code == 404


def test_a_question_that_is_still_open_says_that_leaving_refunds_nothing(office: Office, tmp_path: Path):
    ana = office.visitor("ana")
    notes = Notes(office.ledger.store, Sessions("a secret of this test", office.ledger.store))
    notes.keep(
        office.keys["ana"].split("_")[1], {"dataset": "searches", "draft": [], "state": "asked"}, "being asked"
    )
    page = ana.get("/datasets/searches/asked/being%20asked").text
    assert "neither stops the question nor refunds it" in page
    assert 'http-equiv="refresh"' in page


def test_live_keys_come_first_and_a_search_finds_the_others(office: Office):
    ring, ada = KeyRing(office.ledger), office.visitor("ada")
    for number in range(105):
        ring.revoke(ring.create(f"old robot {number}", "analyst").split("_")[1])
    live = ring.create("Zora", "analyst").split("_")[1]
    page = ada.get("/admin").text
    assert page.index(f"<code>{live}</code>") < page.index("old robot")
    assert "The first 100 of 108, those in use first" in page
    found = ada.get("/admin?q=OLD+ROBOT+104").text
    assert "old robot 104" in found
    assert "old robot 103" not in found
    assert "No account has that" in found


def test_an_accuracy_is_said_and_the_smallest_epsilon_found(office: Office):
    ana = office.visitor("ana")
    before = office.ledger.history()
    fields = {**QUESTION, "epsilon": "", "find": "epsilon", "token": ana.token}
    page = follow(ana, ana.post("/datasets/searches/ask", {**fields, "appears_at": "100"}))
    found = re.search(r'id="epsilon" name="epsilon" value="([\d.]+)"', page)
    assert found is not None
    # As the account pays for it, and no less: the preview says that it is enough, and a little less is not.
    needed = re.search(r"for a chance of 95 %</dt><dd>([\d,]+)", page)
    assert needed is not None
    assert int(needed[1]) <= 100
    less = f"{float(found[1]) * 0.97:.3g}"
    short = ana.post("/datasets/searches/ask/preview", {**fields, "epsilon": less}).text
    needed = re.search(r"for a chance of 95 %</dt><dd>([\d,]+)", short)
    assert needed is not None
    assert int(needed[1]) > 100
    assert 'name="appears_at" value="100"' in page
    assert "Ask, for at most" in page
    # A count within less takes more; both together take the larger.
    closer = follow(ana, ana.post("/datasets/searches/ask", {**fields, "appears_at": "100", "within": "3"}))
    more = re.search(r'id="epsilon" name="epsilon" value="([\d.]+)"', closer)
    assert more is not None
    assert float(more[1]) > float(found[1])
    assert office.ledger.history() == before


@pytest.mark.parametrize(
    "wanted", [{"appears_at": "0"}, {"within": "-3"}, {"appears_at": "1"}, {"within": "lots"}]
)
def test_an_accuracy_that_nothing_has_is_said_at_its_field(wanted: dict[str, str], office: Office):
    ana = office.visitor("ana")
    fields = {**QUESTION, "epsilon": "0.7", "find": "epsilon", **wanted, "token": ana.token}
    page = follow(ana, ana.post("/datasets/searches/ask", fields))
    assert f'id="{next(iter(wanted))}-wrong"' in page
    # What was typed stays, and so does the ε.
    assert 'id="epsilon" name="epsilon" value="0.7"' in page


def test_what_is_wrong_with_a_question_is_said_before_an_epsilon_is_searched_for(office: Office):
    ana = office.visitor("ana")
    fields = {**QUESTION, "find": "epsilon", "appears_at": "50", "where": "nothing = 1", "token": ana.token}
    assert 'id="where-wrong"' in follow(ana, ana.post("/datasets/searches/ask", fields))


def test_a_histogram_needs_no_bound(office: Office):
    ana = office.visitor("ana")
    fields = {**QUESTION, "items_per_user": "", "counting": "find", "token": ana.token}
    assert "Ask, for at most" in follow(ana, ana.post("/datasets/searches/ask", fields))
