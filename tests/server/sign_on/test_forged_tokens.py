"""Tokens that are not what they say: each is refused, in words that quote nothing of it, and nobody gets in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.server.sign_on.door import Browser, Door, opened
from tests.server.sign_on.providers import Forger, key_called, query_of

from unlisted.server.sign_on import provider


def sign_in(door: Door, forger: Forger, **changed: Any) -> tuple[Browser, str]:
    """Come back with a token whose claims are right but for those that change; return where the browser goes."""
    return come_back(door, forger, lambda nonce: {"id_token": forger.signed(**{"nonce": nonce, **changed})})


def come_back(door: Door, forger: Forger, answer: Any) -> tuple[Browser, str]:
    browser = door.browser()
    told = query_of(browser.leave())
    forger.challenge, forger.answer = told["code_challenge"], lambda: answer(told["nonce"])
    reply = browser.come_back({"state": told["state"], "code": "a code"})
    return browser, reply.headers.get("location", "in")


def api(door: Door, token: str) -> Any:
    return door.browser().get("/v1/datasets", headers={"Authorization": f"Bearer {token}"})


def b64(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def unsigned(forger: Forger, **changed: Any) -> str:
    return f"{b64({'alg': 'none', 'typ': 'JWT'})}.{b64(forger.claims(**changed))}."


def signed_with_what_is_public(forger: Forger, **changed: Any) -> str:
    """The old trick: the public key as the secret of a symmetric signature."""
    said = f"{b64({'alg': 'HS256', 'kid': forger.key.kid})}.{b64(forger.claims(**changed))}"
    made = hmac.new(forger.key.as_pem(private=False), said.encode(), hashlib.sha256).digest()
    return f"{said}.{base64.urlsafe_b64encode(made).decode().rstrip('=')}"


def test_a_right_token_lets_in(open_door: Door, forger: Forger) -> None:
    browser, went = sign_in(open_door, forger)
    assert went == "in"
    assert browser.get("/console/").status_code == 200
    assert api(open_door, forger.signed()).status_code == 200


WRONG: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://elsewhere.example.org"},
    "no issuer": {"iss": None},
    "another audience": {"aud": "payroll"},
    "no audience": {"aud": None},
    "an audience that is no text": {"aud": 7},
    "expired": {"exp": int(time.time()) - 3600},
    "no end": {"exp": None},
    "an end that is no number": {"exp": "tomorrow"},
    "not yet": {"nbf": int(time.time()) + 3600},
    "from the future": {"iat": int(time.time()) + 7200},
    "nobody": {"sub": None},
    "a person that is no text": {"sub": {"$ne": ""}},
    "a person with line breaks": {"sub": "ana\nadmin"},
    "a person without end": {"sub": "a" * 201},
    "groups that are no list": {"groups": {"analysts": True}},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_token_with_a_wrong_claim_is_refused(open_door: Door, forger: Forger, what: str) -> None:
    browser, went = sign_in(open_door, forger, **WRONG[what])
    assert went == "/console/sign-in?refused=token"
    assert browser.get("/console/").status_code == 303
    reply = api(open_door, forger.signed(**WRONG[what]))
    assert reply.status_code == 401
    assert "token" in reply.json()["detail"]


@pytest.mark.parametrize(
    "changed", [{"nonce": "another"}, {"nonce": None}, {"aud": ["unlisted", "payroll"]}, {"azp": "payroll"}]
)
def test_a_token_of_another_sign_in_or_service_is_refused(
    open_door: Door, forger: Forger, changed: dict[str, Any]
) -> None:
    assert sign_in(open_door, forger, **changed)[1].endswith("refused=token")


@pytest.mark.parametrize("groups", [[], ["cooks"], ["Analysts"], [7, None], "cooks", None])
def test_a_group_that_is_not_ours_lets_nobody_in(open_door: Door, forger: Forger, groups: Any) -> None:
    assert sign_in(open_door, forger, groups=groups)[1].endswith("refused=group")
    reply = api(open_door, forger.signed(groups=groups))
    assert reply.status_code == 403
    assert "none of your groups" in reply.json()["detail"]


def test_a_single_group_may_be_a_text(open_door: Door, forger: Forger) -> None:
    assert sign_in(open_door, forger, groups="analysts")[1] == "in"


@pytest.mark.parametrize("forge", [unsigned, signed_with_what_is_public], ids=["none", "HS256"])
def test_a_signature_that_anybody_can_make_is_none(open_door: Door, forger: Forger, forge: Any) -> None:
    _, went = come_back(open_door, forger, lambda nonce: {"id_token": forge(forger, nonce=nonce)})
    assert went.endswith("refused=token")
    assert api(open_door, forge(forger)).status_code == 401


def test_another_s_key_is_not_the_provider_s(open_door: Door, forger: Forger) -> None:
    theirs = key_called("first", "another's")
    stranger = key_called("other")
    for key in (theirs, stranger):
        _, went = come_back(
            open_door, forger, lambda nonce, key=key: {"id_token": forger.signed(key, nonce=nonce)}
        )
        assert went.endswith("refused=token")
        assert api(open_door, forger.signed(key)).status_code == 401
    # A key that the token brings along, or names, is not looked at.
    header = {"alg": "RS256", "jwk": theirs.as_dict(private=False)}
    assert api(open_door, forger.signed(theirs, header)).status_code == 401


@pytest.mark.parametrize(
    "token",
    [
        "a.b.c",
        "e30.e30.",
        "..",
        f"{b64([])}.{b64({})}.x",
        f"{b64({'alg': 'RS256'})}.{b64([])}.AAAA",
        "e" * 20_000 + ".e.e",
    ],
)
def test_rubbish_is_no_token(open_door: Door, forger: Forger, token: str) -> None:
    assert api(open_door, token).status_code == 401
    assert come_back(open_door, forger, lambda _: {"id_token": token})[1].endswith("refused=token")


def test_an_answer_without_a_token_is_refused(open_door: Door, forger: Forger) -> None:
    assert come_back(open_door, forger, lambda _: {})[1].endswith("refused=token")


def test_an_expired_token_says_so_and_does_not_count_as_a_guess(open_door: Door, forger: Forger) -> None:
    over = forger.signed(exp=int(time.time()) - 3600)
    replies = [api(open_door, over) for _ in range(8)]
    assert {one.status_code for one in replies} == {401}
    assert "expired" in replies[0].json()["detail"]


def test_forged_tokens_are_answered_slower_and_slower_a_right_one_is_not(open_door: Door, forger: Forger) -> None:
    replies = [api(open_door, unsigned(forger)).status_code for _ in range(8)]
    assert replies[0] == 401
    assert 429 in replies
    assert api(open_door, forger.signed()).status_code == 200


def test_the_code_needs_the_proof_of_whoever_began(open_door: Door, forger: Forger) -> None:
    browser = open_door.browser()
    told = query_of(browser.leave())
    forger.challenge = "of another sign-in"
    forger.answer = lambda: {"id_token": forger.signed(nonce=told["nonce"])}
    reply = browser.come_back({"state": told["state"], "code": "a stolen code"})
    assert reply.headers["location"].endswith("refused=token")


def test_an_answer_of_another_issuer_is_refused_before_the_code_is_sent(open_door: Door, forger: Forger) -> None:
    browser = open_door.browser()
    told = query_of(browser.leave())
    reply = browser.come_back({"state": told["state"], "code": "a code", "iss": "https://elsewhere.example.org"})
    assert reply.headers["location"].endswith("refused=token")
    assert "/token" not in forger.asked


def test_groups_may_come_from_the_provider_s_other_answer_about_the_same_person(
    own_door: tuple[Door, Forger],
) -> None:
    door, forger = own_door
    forger.further = {"sub": "ana", "groups": ["analysts"]}
    assert sign_in(door, forger, groups=None)[1] == "in"
    forger.further = {"sub": "ada", "groups": ["platform"]}
    assert sign_in(door, forger, groups=None)[1].endswith("refused=token")


def test_a_key_that_is_new_at_the_provider_is_fetched_and_not_for_every_token(
    own_door: tuple[Door, Forger], monkeypatch: pytest.MonkeyPatch
) -> None:
    door, forger = own_door
    assert api(door, forger.signed()).status_code == 200
    new = key_called("second")
    forger.published = [forger.key, new]
    assert api(door, forger.signed(new)).status_code == 401, "it was asked a moment ago"
    monkeypatch.setattr(provider, "_NOT_AGAIN_FOR", 0.0)
    assert api(door, forger.signed(new)).status_code == 200
    monkeypatch.undo()
    before = forger.asked.count("/keys")
    for kid in range(5):
        api(door, forger.signed(new, {"alg": "RS256", "kid": f"made up {kid}"}))
    assert forger.asked.count("/keys") == before


def test_a_provider_that_says_it_is_another_is_not_used(own_door: tuple[Door, Forger]) -> None:
    door, forger = own_door
    forger.described = {"issuer": "https://elsewhere.example.org"}
    browser = door.browser()
    reply = browser.get("/console/sign-in/sso")
    assert reply.headers["location"] == "/console/sign-in?refused=away"
    assert "Try again soon, or use a key" in browser.get(reply.headers["location"]).text


def test_a_provider_that_is_away_stops_nobody_s_key(own_door: tuple[Door, Forger]) -> None:
    door, forger = own_door
    forger.server.shutdown()
    forger.server.server_close()
    browser = door.browser()
    assert browser.get("/console/sign-in/sso").headers["location"].endswith("refused=away")
    reply = api(door, forger.signed())
    assert reply.status_code == 503
    assert int(reply.headers["retry-after"]) > 0
    assert api(door, door.key).status_code == 200


def test_without_an_audience_the_api_takes_keys_alone(tmp_path: Path, forger: Forger) -> None:
    with opened(tmp_path, forger.issuer) as door:
        reply = api(door, forger.signed())
        assert reply.status_code == 401
        assert "takes keys, and no tokens" in reply.json()["detail"]
        assert api(door, door.key).status_code == 200


def test_a_verified_address_may_name_a_person_and_an_unverified_one_may_not(
    tmp_path: Path, forger: Forger
) -> None:
    with opened(tmp_path, forger.issuer, 'person_claim = "email"') as door:
        assert sign_in(door, forger, email="ana@example.org", email_verified=True)[1] == "in"
        for verified in (False, None, "true"):
            assert sign_in(door, forger, email="ada@example.org", email_verified=verified)[1].endswith("token")
