"""Cookies and tokens: only ours count, only for their time, and a cookie shows nobody the key in it."""

from __future__ import annotations

import time

import pytest

from unlisted.server.console.sessions import LONGEST, Sessions

KEY = "ul_0123456789ab_" + "k" * 43


def test_a_cookie_holds_its_key() -> None:
    sessions = Sessions("a secret")
    assert sessions.key(sessions.begin(KEY)) == KEY
    assert sessions.key(sessions.begin("")) == ""
    assert KEY not in sessions.begin(KEY)


def test_processes_that_share_a_secret_share_sessions() -> None:
    assert Sessions("a secret").key(Sessions("a secret").begin(KEY)) == KEY
    assert Sessions("another").key(Sessions("a secret").begin(KEY)) is None
    assert Sessions().key(Sessions().begin(KEY)) is None


@pytest.mark.parametrize("cookie", ["", "x", "é", KEY, "gAAAAA", "a.b.c"])
def test_what_is_not_ours_is_nobody_s(cookie: str) -> None:
    assert Sessions("a secret").key(cookie) is None


def test_a_changed_cookie_is_not_ours() -> None:
    sessions = Sessions("a secret")
    cookie = sessions.begin(KEY)
    middle = len(cookie) // 2
    other = "A" if cookie[middle] != "A" else "B"
    assert sessions.key(cookie[:middle] + other + cookie[middle + 1 :]) is None


def test_a_cookie_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions("a secret")
    cookie, now = sessions.begin(KEY), time.time()
    monkeypatch.setattr(time, "time", lambda: now + LONGEST - 60)
    assert sessions.key(cookie) == KEY
    monkeypatch.setattr(time, "time", lambda: now + LONGEST + 60)
    assert sessions.key(cookie) is None


def test_signing_out_ends_every_copy_of_a_cookie() -> None:
    sessions = Sessions("a secret")
    mine, elsewhere = sessions.begin(KEY), sessions.begin(KEY)
    # What is no letter of the code is passed over, so that one cookie can be written in many ways.
    disguised = mine[:9] + "!" + mine[9:]
    assert sessions.key(disguised) == KEY
    sessions.end(mine)
    assert sessions.key(mine) is sessions.key(disguised) is None
    assert sessions.key(elsewhere) == KEY, "the same visitor's other browser stays signed in"
    sessions.end("x")
    assert Sessions("a secret").key(mine) == KEY, "another process does not know"


def test_nobody_s_cookie_takes_no_room() -> None:
    sessions = Sessions("a secret", most_remembered=1)
    mine = sessions.begin(KEY)
    sessions.end(mine)
    for _ in range(3):
        sessions.end(sessions.begin(""))
    assert sessions.key(mine) is None


def test_ended_sessions_are_remembered_as_long_as_their_cookies_last(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, now = Sessions("a secret", most_remembered=2), time.time()
    first, second, third = (sessions.begin(KEY) for _ in range(3))
    for later, cookie in ((60, first), (120, second), (LONGEST - 60, third)):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        sessions.end(cookie)
    assert [sessions.key(cookie) for cookie in (first, second, third)] == [None] * 3
    monkeypatch.setattr(time, "time", lambda: now + LONGEST + 240)
    fresh = sessions.begin(KEY)
    sessions.end(sessions.begin(KEY))
    assert sessions.key(fresh) == KEY


def test_where_there_are_too_many_everybody_older_signs_in_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, now = Sessions("a secret", most_remembered=2), time.time()
    ended = [sessions.begin(KEY) for _ in range(3)]
    older = sessions.begin(KEY)
    monkeypatch.setattr(time, "time", lambda: now + 60)
    for cookie in ended:
        sessions.end(cookie)
    monkeypatch.setattr(time, "time", lambda: now + 120)
    assert [sessions.key(cookie) for cookie in ended] == [None] * 3
    assert sessions.key(older) is None
    assert sessions.key(sessions.begin(KEY)) == KEY


def test_a_token_belongs_to_one_cookie() -> None:
    sessions = Sessions("a secret")
    mine, yours = sessions.begin(KEY), sessions.begin(KEY)
    assert sessions.is_token(mine, sessions.token(mine))
    assert not sessions.is_token(mine, sessions.token(yours))
    assert not sessions.is_token(mine, "")
    assert not Sessions("another").is_token(mine, sessions.token(mine))
