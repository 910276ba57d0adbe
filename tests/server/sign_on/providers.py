"""Two OpenID providers on the loopback address: one that is honest, and one that says what a test tells it to."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey
from tests.server.running import wait_until

PEOPLE = (
    {"sub": "ana", "name": "Ana Lyst", "email": "ana@example.org", "groups": ["analysts", "cooks"]},
    {"sub": "ada", "name": "Ada Min", "groups": ["platform"]},
    {"sub": "otto", "name": "Otto", "groups": ["cooks"]},
    {"sub": "nobody", "name": "Nobody"},
)


@contextmanager
def honest_provider() -> Iterator[str]:
    """Run `oidc-provider-mock` in a process of its own, and return its issuer: at another site than 127.0.0.1."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), "--require-nonce"]
    for person in PEOPLE:
        command += ["--user-claims", json.dumps(person)]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    process = subprocess.Popen(command, env=environment, **silent)
    issuer = f"http://localhost:{port}"
    try:
        wait_until(lambda: _answers(f"{issuer}/.well-known/openid-configuration"))
        yield issuer
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10):
            return True
    except OSError:
        return False


def consent(url: str, person: str) -> dict[str, str]:
    """Sign in at the honest provider as somebody, and return what its redirect carries."""
    request = urllib.request.Request(url, urllib.parse.urlencode({"sub": person}).encode())
    try:
        urllib.request.build_opener(_NoRedirect).open(request)
    except urllib.error.HTTPError as redirect:
        with redirect:
            return query_of(redirect.headers["Location"])
    raise AssertionError("the provider did not send anybody back")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def query_of(url: str) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


@cache
def key_called(kid: str, whose: str = "the provider's") -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": kid})


@dataclass
class Forger:
    """A provider with keys of its own, that issues whatever it is told to, and checks the proof of the code."""

    server: ThreadingHTTPServer
    key: RSAKey = field(default_factory=lambda: key_called("first"))
    published: list[Any] = field(default_factory=list)
    answer: Callable[[], Mapping[str, Any]] = dict
    further: Mapping[str, Any] | None = None
    challenge: str = ""
    described: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def reset(self) -> None:
        self.published, self.answer, self.further, self.challenge = [], dict, None, ""
        self.described, self.asked = {}, []

    def claims(self, **changed: Any) -> dict[str, Any]:
        now = int(time.time())
        told = {"iss": self.issuer, "sub": "ana", "aud": "unlisted", "iat": now, "exp": now + 600}
        told |= {"groups": ["analysts"], **changed}
        return {name: value for name, value in told.items() if value is not None}

    def signed(self, key: RSAKey | None = None, header: Mapping[str, Any] | None = None, **changed: Any) -> str:
        used = key or self.key
        return jwt.encode(dict(header or {"alg": "RS256", "kid": used.kid}), self.claims(**changed), used)

    def reply(self, path: str, body: str) -> tuple[int, Mapping[str, Any]]:
        self.asked.append(path)
        if path == "/.well-known/openid-configuration":
            ends = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
            told = {name: f"{self.issuer}/{end}" for name, end in ends.items()}
            told |= {} if self.further is None else {"userinfo_endpoint": f"{self.issuer}/userinfo"}
            return 200, {"issuer": self.issuer, **told, **self.described}
        if path == "/keys":
            return 200, {"keys": [key.as_dict(private=False) for key in self.published or [self.key]]}
        if path == "/userinfo":
            return 200, self.further or {}
        verifier = dict(urllib.parse.parse_qsl(body)).get("code_verifier", "")
        proof = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        if proof != self.challenge:
            return 400, {"error": "invalid_grant"}
        return 200, {"token_type": "Bearer", "access_token": "an access token", **self.answer()}


@contextmanager
def forging_provider() -> Iterator[Forger]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, told = forger.reply(self.path, body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(told).encode())

        do_POST = do_GET  # noqa: N815 - the name that the server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forger = Forger(server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield forger
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
