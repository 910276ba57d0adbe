"""Calls of a service over HTTP, with the standard library alone: where a key goes, and what comes back.

A key goes to the host it was given for and nowhere else: over TLS, unless the host is this machine, and never
along a redirect.
"""

from __future__ import annotations

import ipaddress
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from unlisted.errors import (
    AccessError,
    BudgetRefusedError,
    ChargedFailureError,
    FrozenError,
    InvalidArgumentError,
    LedgerError,
    UncertainError,
    UnlistedError,
)

_TRIES = 3
_LONGEST_PROBLEM = 100_000


@dataclass(frozen=True)
class Reply:
    """What a service sent; the names of headers are in lower case."""

    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """Return the body as plain values."""
        return _read(self.body)

    def json_header(self, name: str) -> Any:
        """Return a header as plain values."""
        return _read(self.headers.get(name.lower(), ""))


class HttpCalls:
    """One service, one key."""

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self._url = _checked(url)
        self._key = key
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirects)

    def get(self, *path: str, accept: str = "application/json") -> Reply:
        """Ask for something that costs nothing."""
        return self._call(path, None, {"Accept": accept})

    def post(self, *path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Reply:
        """Send a question. It may be sent again if the connection fails, so it must name itself in a header."""
        return self._call(path, body, headers)

    def _call(self, path: tuple[str, ...], body: Mapping[str, Any] | None, headers: Mapping[str, str]) -> Reply:
        place = "/".join([self._url, *(urllib.parse.quote(step, safe="") for step in path)])
        data = None if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json", **headers}
        for left in reversed(range(_TRIES)):
            request = urllib.request.Request(place, data, given)  # noqa: S310 - the scheme was checked
            try:
                with self._opener.open(request, timeout=self._timeout) as reply:
                    return Reply(reply.read(), {name.lower(): value for name, value in reply.headers.items()})
            except urllib.error.HTTPError as refusal:
                with refusal:
                    error = _refused(refusal.code, refusal.read(_LONGEST_PROBLEM), body or {})
                raise error from None
            except TimeoutError:
                break
            except OSError:
                # The name of the request makes a second try safe: what was paid for is not paid for again.
                time.sleep(0.2 if left else 0)
        raise AccessError(503, "The service cannot be reached, or did not answer in time.")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to whoever is named there."""

    def redirect_request(self, *_: Any) -> None:
        """Follow none."""
        return


def _read(text: bytes | str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise AccessError(
            502, "The server at this address is not an unlisted service. Check the address."
        ) from None


def _refused(status: int, problem: bytes, asked: Mapping[str, Any]) -> UnlistedError:
    """Turn a refusal into the error that the library would raise for it here."""
    try:
        told = json.loads(problem)
        kind, detail = str(told["type"]).rpartition(":")[2], str(told["detail"])
    except (ValueError, KeyError, TypeError):
        return AccessError(status, f"The service answered with HTTP status {status}.")
    if kind == "charged-failure":
        return ChargedFailureError()
    if kind == "budget-refused":
        return BudgetRefusedError(detail)
    if kind == "frozen":
        return FrozenError(detail)
    if kind == "charge-unknown":
        return UncertainError(detail)
    if kind == "ledger-unavailable":
        return LedgerError(detail)
    if kind == "invalid-argument" and "argument" in told:
        argument = str(told["argument"])
        error = InvalidArgumentError(argument, asked.get(argument), "what the service allows")
        error.args = (detail,)
        return error
    return AccessError(status, detail)


def _checked(url: str) -> str:
    """Refuse to send a key in the clear over a network."""
    parts = urllib.parse.urlsplit(url) if isinstance(url, str) else None
    if parts is None or not parts.hostname or parts.query or parts.fragment or parts.username:
        raise InvalidArgumentError("url", url, "the address of a service, such as https://counts.example.org")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_this_machine(parts.hostname)):
        hint = "Over http the key could be read on the way."
        raise InvalidArgumentError("url", url, "an https address, or http to this machine", hint)
    return url.rstrip("/")


def is_this_machine(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
