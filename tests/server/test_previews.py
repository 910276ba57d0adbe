"""Previews have threads, a queue and a limit of their own: one key's must stall nobody else."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from tests.server.running import PATIENCE_SECONDS

import unlisted as ul
from unlisted.errors import AccessError
from unlisted.ledger.ledger import Ledger
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Limits, Offer
from unlisted.server.previews import Previews
from unlisted.tables.stopping import watcher

ROWS = pa.table({"user": ["a"], "query": ["tea"]})


def test_keys_take_turns():
    """Three previews of one key wait when another key comes: it is served before the second of them."""
    go, done = threading.Event(), []

    async def ask() -> None:
        previews = Previews(Limits(previews_at_once=1))
        first = asyncio.ensure_future(previews.run("ana", lambda: go.wait(PATIENCE_SECONDS)))
        await asyncio.sleep(0)
        others = [
            asyncio.ensure_future(previews.run(key, lambda key=key: done.append(key)))
            for key in ("ana", "ana", "otto")
        ]
        await asyncio.sleep(0)
        assert previews.waiting == 4
        go.set()
        await asyncio.gather(first, *others)
        previews.close()

    asyncio.run(ask())
    assert done == ["otto", "ana", "ana"]


def test_a_key_may_have_only_so_many_at_once():
    go = threading.Event()

    async def ask() -> None:
        previews = Previews(Limits(previews_at_once=1, previews_per_key=2))
        asked = [asyncio.ensure_future(previews.run("ana", lambda: go.wait(PATIENCE_SECONDS))) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(AccessError, match="At most 2 previews at once") as refused:
            await previews.run("ana", lambda: None)
        assert (refused.value.status, refused.value.retry_after) == (429, 1)
        go.set()
        await asyncio.gather(*asked)
        assert await previews.run("ana", lambda: "again") == "again"

    asyncio.run(ask())


def test_when_too_many_wait_others_are_sent_away():
    go = threading.Event()

    async def ask() -> None:
        previews = Previews(Limits(previews_at_once=1, previews_waiting=1))
        asked = [asyncio.ensure_future(previews.run(key, lambda: go.wait(PATIENCE_SECONDS))) for key in "ab"]
        await asyncio.sleep(0)
        with pytest.raises(AccessError, match="Too many plans") as refused:
            await previews.run("c", lambda: None)
        assert (refused.value.status, refused.value.retry_after) == (503, 1)
        go.set()
        await asyncio.gather(*asked)

    asyncio.run(ask())


def test_one_that_takes_too_long_is_refused_and_told_to_stop():
    stopped = threading.Event()

    def work() -> None:
        watching = watcher()
        assert watching is not None
        with watching.attached(stopped.set, touches_data=False):
            stopped.wait(PATIENCE_SECONDS)

    async def ask() -> None:
        previews = Previews(Limits(preview_limit=0.05))
        with pytest.raises(AccessError, match=r"takes too long.*nothing was charged") as refused:
            await previews.run("ana", work)
        assert refused.value.status == 503
        assert await asyncio.to_thread(stopped.wait, PATIENCE_SECONDS)

    asyncio.run(ask())


def test_a_failure_is_the_callers_own():
    def work() -> None:
        raise KeyError("x")

    async def ask() -> None:
        previews = Previews(Limits())
        with pytest.raises(KeyError):
            await previews.run("ana", work)

    asyncio.run(ask())


def test_ninety_previews_of_one_key_stop_neither_health_nor_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Of ninety at once four are planned, in their turn; the others are told to wait for those."""
    budget = ul.Budget(rho=10, delta="1e-5")
    offer = Offer("searches", ROWS, "user", ("query",), budget)
    limits = Limits(previews_at_once=1, preview_limit=PATIENCE_SECONDS)
    go, pools, planned, really_serve = threading.Event(), [], [], Previews._serve

    def serve(self: Previews, key: str) -> None:
        # No plan is made before ninety were asked for, however slow the asking is.
        pools.append(self)
        go.wait(PATIENCE_SECONDS)
        planned.append(key)
        really_serve(self, key)

    monkeypatch.setattr(Previews, "_serve", serve)
    with Ledger(tmp_path / "budget.db") as ledger:
        app = make_app(Config("unused", {"searches": offer}, limits=limits), ledger)
        ledger.open("ads", dataset="searches", budget=budget)
        greedy, other = (KeyRing(ledger).create(name, "analyst", {"searches": "ads"}) for name in ("Ana", "Otto"))
        refused: list[httpx.Response] = []

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://inside", timeout=None) as client:

                async def preview(key: str, items: int) -> httpx.Response:
                    question: dict[str, Any] = {"question": "labels", "items": ["query"], "items_per_user": items}
                    reply = await client.post(
                        "/v1/datasets/searches/preview",
                        json={**question, "epsilon": 1, "delta": 1e-8},
                        headers={"Authorization": f"Bearer {key}"},
                    )
                    if reply.status_code == 429:
                        refused.append(reply)
                    return reply

                many = [asyncio.ensure_future(preview(greedy, 2 + number)) for number in range(90)]
                while len(refused) < 86:
                    await asyncio.sleep(0.01)
                assert (await client.get("/health")).status_code == 200
                patient = asyncio.ensure_future(preview(other, 1000))
                while pools[0].waiting < 5:
                    await asyncio.sleep(0.01)
                go.set()
                assert (await patient).status_code == 200
                return list(await asyncio.gather(*many))

        try:
            replies = asyncio.run(ask())
        finally:
            go.set()
    assert sorted(reply.status_code for reply in replies) == [200] * 4 + [429] * 86
    assert {reply.headers["Retry-After"] for reply in refused} == {"1"}
    one, another = planned[:2]
    assert one != another, "the other key does not wait for all of the first one's"
    assert planned == [one, another, one, one, one]
