"""Cookies and tokens: only ours count, only for their time, and a cookie shows nobody the key in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from unlisted.ledger.store import Store
from unlisted.server.console.sessions import LONGEST, Sessions
from unlisted.server.shared_state import ended_sessions, make_tables

KEY = "ul_0123456789ab_" + "k" * 43


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = Store(tmp_path / "budget.db")
    make_tables(found)
    yield found
    found.close()


def test_a_cookie_holds_its_key(store: Store) -> None:
    sessions = Sessions("a secret", store)
    assert sessions.key(sessions.begin(KEY)) == KEY
    assert sessions.key(sessions.begin("")) == ""
    assert KEY not in sessions.begin(KEY)


def test_processes_that_share_a_secret_share_sessions(store: Store) -> None:
    assert Sessions("a secret", store).key(Sessions("a secret", store).begin(KEY)) == KEY
    assert Sessions("another", store).key(Sessions("a secret", store).begin(KEY)) is None
    assert Sessions(None, store).key(Sessions(None, store).begin(KEY)) is None


@pytest.mark.parametrize("cookie", ["", "x", "é", KEY, "gAAAAA", "a.b.c"])
def test_what_is_not_ours_is_nobody_s(store: Store, cookie: str) -> None:
    assert Sessions("a secret", store).key(cookie) is None


def test_a_changed_cookie_is_not_ours(store: Store) -> None:
    sessions = Sessions("a secret", store)
    cookie = sessions.begin(KEY)
    middle = len(cookie) // 2
    other = "A" if cookie[middle] != "A" else "B"
    assert sessions.key(cookie[:middle] + other + cookie[middle + 1 :]) is None


def test_a_cookie_ends(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = Sessions("a secret", store)
    cookie, now = sessions.begin(KEY), time.time()
    monkeypatch.setattr(time, "time", lambda: now + LONGEST - 60)
    assert sessions.key(cookie) == KEY
    monkeypatch.setattr(time, "time", lambda: now + LONGEST + 60)
    assert sessions.key(cookie) is None


def test_signing_out_ends_every_copy_of_a_cookie(store: Store) -> None:
    sessions = Sessions("a secret", store)
    mine, elsewhere = sessions.begin(KEY), sessions.begin(KEY)
    # What is no letter of the code is passed over, so that one cookie can be written in many ways.
    disguised = mine[:9] + "!" + mine[9:]
    assert sessions.key(disguised) == KEY
    sessions.end(mine)
    assert sessions.key(mine) is sessions.key(disguised) is None
    assert sessions.key(elsewhere) == KEY, "the same visitor's other browser stays signed in"
    sessions.end("x")


def test_nobody_s_cookie_takes_no_room(store: Store) -> None:
    sessions = Sessions("a secret", store)
    sessions.end(sessions.begin(""))
    with store.reading() as connection:
        assert connection.execute(ended_sessions.select()).all() == []


def test_ended_sessions_are_kept_as_long_as_their_cookies_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions, now = Sessions("a secret", store), time.time()
    first, second = (sessions.begin(KEY) for _ in range(2))
    for later, cookie in ((60, first), (LONGEST - 60, second)):
        monkeypatch.setattr(time, "time", lambda later=later: now + later)
        sessions.end(cookie)
    assert [sessions.key(cookie) for cookie in (first, second)] == [None] * 2
    monkeypatch.setattr(time, "time", lambda: now + LONGEST + 240)
    sessions.end(sessions.begin(KEY))
    assert sessions.key(first) is None
    with store.reading() as connection:
        assert len(connection.execute(ended_sessions.select()).all()) == 2, "the first need not be kept any more"


def test_signing_out_on_one_server_signs_out_on_all(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = Sessions("a secret", store), Sessions("a secret", store)
    cookie = here.begin(KEY)
    assert there.key(cookie) == there.remembered(cookie) == KEY
    here.end(cookie)
    assert here.remembered(cookie) is here.key(cookie) is None
    # The other one looks again after a second.
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 1.5)
    assert there.remembered(cookie) is there.key(cookie) is None


def test_a_token_belongs_to_one_cookie(store: Store) -> None:
    sessions = Sessions("a secret", store)
    mine, yours = sessions.begin(KEY), sessions.begin(KEY)
    assert sessions.is_token(mine, sessions.token(mine))
    assert not sessions.is_token(mine, sessions.token(yours))
    assert not sessions.is_token(mine, "")
    assert not Sessions("another", store).is_token(mine, sessions.token(mine))
