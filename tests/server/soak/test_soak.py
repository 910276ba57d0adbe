"""Two servers, one PostgreSQL ledger, a crowd for ten minutes: what was answered was charged, and nothing else.

`UNLISTED_SOAK_SECONDS` and `UNLISTED_SOAK_CLIENTS` make it longer or shorter. What was measured is written to
`artefacts/soak.json`: how long previews took is a figure of the machine, and nothing here depends on it.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import statistics
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.running import PATIENCE_SECONDS, Running, running

from unlisted.ledger.ledger import Ledger
from unlisted.ledger.stored_releases import named_question
from unlisted.ledger.verify import verify
from unlisted.privacy.guarantee import Budget
from unlisted.server.auth import KeyRing

SECONDS = float(os.environ.get("UNLISTED_SOAK_SECONDS", "600"))
CLIENTS = int(os.environ.get("UNLISTED_SOAK_CLIENTS", "200"))
TEAMS, KEYS_OF_A_TEAM = 4, 3
KEPT = Path(__file__).parents[3] / "artefacts" / "soak.json"

PREVIEW, RELEASES = "/v1/datasets/searches/preview", "/v1/datasets/searches/releases"
# A budget that the crowd uses up: the end of an account is part of what is tried.
SHARE = Budget(rho="0.4", delta="1e-6")
MIX = {"preview": 60, "repeat": 20, "ask": 8, "balance": 4, "history": 4, "rubbish": 2, "wrong key": 2}


@dataclass
class Seen:
    """What all clients saw."""

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    asked: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in MIX})
    memory: list[tuple[int, int, int]] = field(default_factory=list)
    unforeseen: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return sum(self.statuses.values())


def question(number: int) -> dict[str, Any]:
    """One of a few questions, so that plans are found again and made anew."""
    kind = ("top", "histogram", "labels")[number % 3]
    ranked = {"k": 3} if kind == "top" else {}
    return {"question": kind, "items": ["query"], "rho": f"0.00{1 + number % 9}", "delta": "1e-9", **ranked}


async def client(name: int, ends: float, servers: list[str], keys: dict[str, str], seen: Seen) -> None:
    """Ask whatever comes, now here, now there, until the time is over."""
    chance = random.Random(name)
    key, account = chance.choice(sorted(keys.items()))
    limits = httpx.Limits(max_keepalive_connections=2)
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS, limits=limits) as line:
        while time.monotonic() < ends:
            (what,) = chance.choices(tuple(MIX), tuple(MIX.values()))
            server, headers = chance.choice(servers), {"Authorization": f"Bearer {key}"}
            body, path, method = question(chance.randrange(40)), RELEASES, "POST"
            if what == "preview":
                path = PREVIEW
            elif what == "ask":
                headers["Idempotency-Key"] = uuid.uuid4().hex
            elif what == "repeat":
                headers["Idempotency-Key"] = f"again-{account}-{body['question']}-{body['rho']}"
            elif what == "rubbish":
                body |= {"items": ["salary"], "colour": "red"}
            elif what == "wrong key":
                headers["Authorization"] = f"Bearer ul_{name:012x}_{'A' * 43}"
            else:
                path, method = f"/v1/datasets/searches/{what}", "GET"
            started = time.perf_counter()
            try:
                sent = body if method == "POST" else None
                reply = await line.request(method, server + path, headers=headers, json=sent)
            except httpx.TransportError as cut:
                seen.cut.append(repr(cut))
                continue
            seen.seconds[what].append(time.perf_counter() - started)
            seen.statuses[what, reply.status_code] += 1
            if "Idempotency-Key" in headers:
                named = (account, headers["Idempotency-Key"])
                # A repeat that was refused may be answered later; what was answered stays so.
                seen.asked[named] = 200 if seen.asked.get(named) == 200 else reply.status_code
            if what in ("preview", "repeat", "ask") and reply.status_code == 422:
                seen.odd.append(f"{what}: {reply.text}")
            if reply.status_code == 500 and not reply.json().get("charged"):
                seen.unforeseen.append(reply.text)


async def watch(ends: float, services: list[Running], seen: Seen) -> None:
    """Note how much memory the servers have, as the requests add up."""
    while time.monotonic() < ends:
        seen.memory.append((seen.requests, *(resident(one.process.pid) for one in services)))
        await asyncio.sleep(max(0.5, SECONDS / 200))


def resident(process: int) -> int:
    """Return how many bytes of memory a process holds."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def crowd(services: list[Running], keys: dict[str, str], seen: Seen) -> None:
    ends = time.monotonic() + SECONDS
    servers = [one.url for one in services]
    await asyncio.gather(
        watch(ends, services, seen), *(client(name, ends, servers, keys, seen) for name in range(CLIENTS))
    )


@pytest.mark.long
def test_a_crowd_for_ten_minutes(sources: Path, ledger_url: str, keys: dict[str, str], book: Ledger) -> None:
    teams = [f"soak-{number}" for number in range(TEAMS)]
    for team in teams:
        book.open(team, dataset="searches", budget=SHARE)
    crowd_keys = {
        KeyRing(book).create(f"{team} {number}", "analyst", {"searches": team}): team
        for team in teams
        for number in range(KEYS_OF_A_TEAM)
    }
    seen, limits = Seen(), {"requests_per_minute": 10_000_000}
    with running(sources, ledger_url, keys, limits) as one, running(sources, ledger_url, keys, limits) as two:
        asyncio.run(crowd([one, two], crowd_keys, seen))
        logs = one.log()
    keep(seen)

    assert seen.unforeseen == [], "a failure that nobody foresaw"
    assert seen.cut == [], "a connection that broke off"
    assert "Traceback" not in logs
    assert seen.odd == [], "a right question that was called wrong"
    # No overspend, and books that add up.
    assert verify(book) == []
    for team in teams:
        balance = book.account(team).balance()
        assert balance.left.loss >= 0
        assert balance.account.reserved.loss == 0
    # What was answered is stored, what failed is not, and what was refused was never charged.
    states = {named: named_question(book, *named) for named in seen.asked}
    wrong = {
        named: (status, states[named])
        for named, status in seen.asked.items()
        if (states[named] or ("never", None))[0] != {200: "settled", 500: "forfeited"}.get(status, "never")
    }
    assert wrong == {}, "answered, failed or refused, and the ledger says otherwise"
    # All kinds of requests came to an end of their own kind.
    answered = {what: {status for name, status in seen.statuses if name == what} for what in MIX}
    assert answered["preview"] <= {200, 429, 503}
    assert answered["ask"] <= {200, 402, 500, 503}
    assert answered["balance"] | answered["history"] <= {200}
    assert answered["rubbish"] <= {422}
    assert answered["wrong key"] <= {401, 429}
    # Once everything is warm, memory does not grow with the requests.
    for server in (1, 2):
        grown = growth(seen, server)
        assert grown is None or grown < 0.15, f"server {server} grew by {grown:.0%}"


def growth(seen: Seen, server: int) -> float | None:
    """Return by how much of its memory a server grew from a third of all requests on; None if they are too few."""
    if seen.requests < 5_000:
        return None
    late = [row for row in seen.memory if row[0] >= seen.requests / 3]
    part = max(1, len(late) // 5)
    first, last = (statistics.median(row[server] for row in rows) for rows in (late[:part], late[-part:]))
    return last / first - 1


def keep(seen: Seen) -> None:
    """Write down what was seen."""
    shown = {
        "seconds": SECONDS,
        "clients": CLIENTS,
        "requests": seen.requests,
        "statuses": {f"{what} {status}": count for (what, status), count in sorted(seen.statuses.items())},
        "p50_ms": {what: 1000 * statistics.median(took) for what, took in seen.seconds.items() if took},
        "p99_ms": {
            what: 1000 * statistics.quantiles(took, n=100)[98]
            for what, took in seen.seconds.items()
            if len(took) > 1
        },
        "memory_mb": [
            [row[0], *(round(size / 2**20) for size in row[1:])]
            for row in seen.memory[:: max(1, len(seen.memory) // 20)]
        ],
        "cut": seen.cut[:10],
        "odd": seen.odd[:10],
        "growth": [growth(seen, server) for server in (1, 2)],
        "load": os.getloadavg(),
    }
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    KEPT.write_text(json.dumps(shown, indent=2))
