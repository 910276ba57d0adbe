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


def test_a_token_belongs_to_one_cookie() -> None:
    sessions = Sessions("a secret")
    mine, yours = sessions.begin(KEY), sessions.begin(KEY)
    assert sessions.is_token(mine, sessions.token(mine))
    assert not sessions.is_token(mine, sessions.token(yours))
    assert not sessions.is_token(mine, "")
    assert not Sessions("another").is_token(mine, sessions.token(mine))
