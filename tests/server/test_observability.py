"""Counters and log lines: as many as there are routes, methods and outcomes, whatever a caller makes up."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from unlisted.server.middleware import RequestMiddleware
from unlisted.server.observability import Metrics, known_method


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_methods_of_http_are_told(method: str) -> None:
    assert known_method(method) == method


@pytest.mark.parametrize("method", ["BREW", "get", "", 'GET"} 1\n', "GET ", "ＧＥＴ", "G" * 10_000])
def test_any_other_word_is_other(method: str) -> None:
    assert known_method(method) == "other"


def test_a_thousand_made_up_methods_and_paths_are_one_counter() -> None:
    metrics = Metrics()
    inner = Starlette(routes=[Route("/there", lambda _: PlainTextResponse("here"))])
    gate = RequestMiddleware(inner, metrics, 1000)

    async def ask() -> None:
        transport = httpx.ASGITransport(app=gate)
        async with httpx.AsyncClient(transport=transport, base_url="http://inside") as client:
            for number in range(1000):
                await client.request(f"BREW{number}", f"/{number}?{number}={number}")

    asyncio.run(ask())
    counted = [line for line in metrics.text().splitlines() if line.startswith("unlisted_requests_total")]
    assert counted == ['unlisted_requests_total{method="other",route="unknown",outcome="denied"} 1000']
