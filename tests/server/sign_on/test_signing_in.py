"""People sign in at a real provider: groups become grants, the ledger says who asked, sessions end."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest
from tests.server.running import TOP
from tests.server.sign_on.door import ADDRESS, Browser, Door
from tests.server.sign_on.providers import consent, query_of

from unlisted.ledger.rows import Page

FIELDS = {"item": "query", "question": "histogram", "epsilon": "0.7", "delta": "1e-8", "items_per_user": "1"}
FIELDS |= {"k": "7", "fetch": "100", "count": "users", "noise": "auto", "max_label_bytes": "1024"}
FIELDS |= {"ranking": "gumbel", "counting": "auto", "method": "auto"}


def signed_in(door: Door, person: str = "ana") -> Browser:
    browser = door.browser()
    reply = browser.come_back(consent(browser.leave(), person))
    assert reply.status_code == 200, reply.headers.get("location")
    return browser


def test_the_request_carries_state_nonce_and_the_proof_of_the_code(door: Door, issuer: str) -> None:
    url = door.browser().leave()
    told = query_of(url)
    assert url.startswith(issuer)
    assert told["redirect_uri"] == f"{ADDRESS}/console/sign-in/callback"
    assert (told["response_type"], told["client_id"]) == ("code", "unlisted")
    assert told["code_challenge_method"] == "S256"
    assert min(len(told[name]) for name in ("state", "nonce", "code_challenge")) >= 43
    assert "openid" in told["scope"].split()
    assert query_of(door.browser().leave())["state"] != told["state"]


def test_somebody_signs_in_and_sees_what_the_group_may_see(door: Door) -> None:
    browser = signed_in(door)
    page = browser.get("/console/")
    assert page.status_code == 200
    assert "Ana Lyst" in page.text
    assert "searches" in page.text
    assert browser.get("/console/admin").status_code == 403


def test_a_group_can_make_an_admin(door: Door) -> None:
    browser = signed_in(door, "ada")
    assert browser.get("/console/admin").status_code == 200


def test_the_way_back_goes_by_a_page_of_ours(door: Door) -> None:
    # A redirect would still be the other site's request, which carries no strict cookie.
    browser = door.browser()
    reply = browser.come_back(consent(browser.leave(), "ana"))
    assert 'content="0; url=/console/"' in reply.text
    cookies = reply.headers.get_list("set-cookie")
    assert any("unlisted_console=" in one and "SameSite=strict" in one for one in cookies)
    assert any('unlisted_sign_on=""' in one and "Max-Age=0" in one for one in cookies)


@pytest.mark.parametrize("person", ["otto", "nobody"])
def test_somebody_without_a_group_of_ours_is_told_so(door: Door, person: str) -> None:
    browser = door.browser()
    reply = browser.come_back(consent(browser.leave(), person))
    assert reply.headers["location"] == "/console/sign-in?refused=group"
    assert "none of your groups may do anything here" in browser.get(reply.headers["location"]).text
    assert browser.get("/console/").status_code == 303


def test_whoever_says_no_there_comes_back_to_the_form(door: Door) -> None:
    browser = door.browser()
    told = query_of(browser.leave())
    reply = browser.come_back({"error": "access_denied", "state": told["state"]})
    assert reply.headers["location"] == "/console/sign-in?refused=denied"


def test_a_state_counts_once_on_every_server(door: Door) -> None:
    browser = door.browser()
    told = consent(browser.leave(), "ana")
    kept = browser.cookies["unlisted_sign_on"]
    assert browser.come_back(told).status_code == 200
    for again in (door.browser(), door.again().browser()):
        again.cookies.set("unlisted_sign_on", kept)
        assert again.come_back(told).headers["location"] == "/console/sign-in?refused=stale"


def test_another_browser_cannot_finish_a_sign_in(door: Door) -> None:
    mine, theirs = door.browser(), door.browser()
    told = consent(mine.leave(), "ana")
    assert theirs.come_back(told).headers["location"].endswith("refused=stale")
    theirs.leave()
    assert theirs.come_back(told).headers["location"].endswith("refused=stale")


def test_a_sign_in_that_took_too_long_is_over(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = door.browser()
    told, now = consent(browser.leave(), "ana"), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 601)
    assert browser.come_back(told).headers["location"].endswith("refused=stale")


@pytest.mark.parametrize("kept", ["", "x", "gAAAAA"])
def test_rubbish_in_the_cookie_is_refused(door: Door, kept: str) -> None:
    browser = door.browser()
    browser.cookies.set("unlisted_sign_on", kept)
    assert browser.come_back({"state": "x", "code": "x"}).headers["location"].endswith("refused=stale")


def test_a_cookie_of_the_console_is_none_of_a_sign_in_and_the_other_way_round(door: Door) -> None:
    browser = signed_in(door)
    session = browser.cookies["unlisted_console"]
    other = door.browser()
    other.cookies.set("unlisted_sign_on", session)
    assert other.come_back({"state": "x", "code": "x"}).headers["location"].endswith("refused=stale")
    third = door.browser()
    third.leave()
    third.cookies.set("unlisted_console", third.cookies["unlisted_sign_on"])
    assert third.get("/console/").status_code == 303


def test_the_ledger_says_who_asked(door: Door) -> None:
    browser = signed_in(door)
    reply = browser.post("/console/datasets/searches/answers", data={"token": browser.token(), **FIELDS})
    assert reply.status_code == 303, reply.text
    wanted = [one for one in door.ledger.history_page("searches", "team", Page(50)) if one.kind == "reserved"]
    assert [one.body["by"] for one in wanted] == ["sso:ana"]


def test_a_session_ends_and_keeps_the_form(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = signed_in(door)
    token, now = browser.token(), time.time()
    monkeypatch.setattr(time, "time", lambda: now + 4 * 3600 + 60)
    time.sleep(1.1)  # for so long a server remembers whom it let in
    reply = browser.post("/console/datasets/searches/answers", data={"token": token, **FIELDS})
    assert "ended=1" in reply.headers["location"]
    page = browser.get(reply.headers["location"])
    assert "Your session has ended" in page.text
    assert "comes back as you filled it in" in page.text
    draft = query_of(reply.headers["location"])["draft"]
    assert f"/console/sign-in/sso?draft={draft}" in page.text
    left = browser.get(f"/console/sign-in/sso?draft={draft}").headers["location"]
    monkeypatch.undo()
    back = browser.come_back(consent(left, "ana"))
    assert f"/console/datasets/searches/ask?draft={draft}" in back.text
    assert 'value="0.7"' in browser.get(f"/console/datasets/searches/ask?draft={draft}").text


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie(door: Door) -> None:
    browser = signed_in(door)
    copy = door.again().browser()
    copy.cookies.set("unlisted_console", browser.cookies["unlisted_console"])
    assert copy.get("/console/").status_code == 200
    browser.post("/console/sign-out", data={"token": browser.token()})
    time.sleep(1.1)  # for so long a server remembers whom it let in
    assert urlsplit(copy.get("/console/").headers["location"]).path == "/console/sign-in"


def test_a_session_is_known_to_every_server_and_not_without_the_secret(door: Door) -> None:
    browser = signed_in(door)
    other = door.again().browser()
    other.cookies = browser.cookies
    assert other.get("/console/").status_code == 200
    (door.folder / "secret").write_text("another secret of more than thirty-two characters")
    third = door.again().browser()
    third.cookies.set("unlisted_console", browser.cookies["unlisted_console"])
    assert third.get("/console/").status_code == 303


def test_a_grant_on_an_account_that_is_not_there_is_none(door: Door, issuer: str) -> None:
    config = door.folder / "unlisted.toml"
    config.write_text(config.read_text().replace('{ searches = "team" }', '{ searches = "gone" }'))
    browser = signed_in(door.again())
    page = browser.get("/console/")
    assert page.status_code == 200
    assert "searches" not in page.text.split("</header>")[1]


def test_keys_are_taken_beside_people(door: Door) -> None:
    browser = door.browser()
    page = browser.get("/console/sign-in").text
    assert "Sign in with your organisation" in page
    assert 'type="password"' in page
    header = {"Authorization": f"Bearer {door.key}"}
    assert browser.get("/v1/datasets", headers=header).json()[0]["name"] == "searches"


def test_an_id_token_is_taken_over_the_api_and_the_ledger_says_whose(door: Door, issuer: str) -> None:
    browser = door.browser()
    told = query_of(browser.leave())
    from authlib.integrations.httpx_client import OAuth2Client

    with OAuth2Client("unlisted", "a secret", redirect_uri=told["redirect_uri"], scope="openid profile") as client:
        url, _ = client.create_authorization_url(f"{issuer}/oauth2/authorize", nonce="n-7")
        given = client.fetch_token(
            f"{issuer}/oauth2/token", grant_type="authorization_code", code=consent(url, "ana")["code"]
        )
    header = {"Authorization": f"Bearer {given['id_token']}"}
    reply = browser.post("/v1/datasets/searches/releases", json=TOP, headers=header)
    assert reply.status_code == 200, reply.text
    wanted = [one for one in door.ledger.history_page("searches", "team", Page(50)) if one.kind == "reserved"]
    assert [one.body["by"] for one in wanted] == ["sso:ana"]
