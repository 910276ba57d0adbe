"""Requests to an application in this process: no socket, no server, for what needs neither."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx
from starlette.types import ASGIApp


@dataclass(frozen=True)
class Inside:
    """An application and a key to ask it with."""

    app: ASGIApp
    key: str

    def get(self, path: str, key: str | None = None, **more: Any) -> httpx.Response:
        return asyncio.run(self._call("GET", path, key, **more))

    def post(self, path: str, body: Any, key: str | None = None, **more: Any) -> httpx.Response:
        return asyncio.run(self._call("POST", path, key, json=body, **more))

    def send(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        return asyncio.run(self._call(method, path, key, **({} if body is None else {"json": body})))

    async def _call(self, method: str, path: str, key: str | None, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://inside", headers=headers) as client:
            return await client.request(method, path, **more)
