"""Running a service: its logs, its socket, uvicorn; and the demo, which makes up all that a service needs."""

from __future__ import annotations

import ipaddress
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import uvicorn

from unlisted.demo.searches import searches
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.privacy.guarantee import Budget
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer
from unlisted.server.observability import log_to_stderr
from unlisted.tables.failures import causes_kept_in

_LAST_SECONDS = 10
"""How long running questions get when the service is told to stop. Then they are cancelled, and charged."""


def serve(config: Config, say: Callable[[str], None]) -> None:
    """Serve until told to stop; say where."""
    for ending in (signal.SIGINT, signal.SIGTERM):
        # uvicorn ends what runs and then sends itself the signal again, which would leave temporary files behind.
        signal.signal(ending, _leave)
    with (
        causes_kept_in(config.owner_log, "owner_log"),
        _listening(config) as door,
        Ledger(config.ledger, timeout=config.limits.ledger_limit) as ledger,
    ):
        log_to_stderr()
        app = make_app(config, ledger)
        door.listen()
        host, port = door.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        say(f"Listening on http://{shown}:{port}")
        settings = uvicorn.Config(
            app,
            access_log=False,  # ours says less
            log_config=None,
            server_header=False,
            proxy_headers=bool(config.trusted_proxies),
            forwarded_allow_ips=list(config.trusted_proxies),
            timeout_graceful_shutdown=_LAST_SECONDS,
            ws="none",
        )
        uvicorn.Server(settings).run(sockets=[door])


@dataclass(frozen=True)
class Demo:
    """A service on an invented table, with a key for each role."""

    config: Config
    analyst: str
    admin: str


@contextmanager
def demo(port: int) -> Iterator[Demo]:
    """Set up a service on the packaged table, with a ledger that ends with it."""
    with tempfile.TemporaryDirectory(prefix="unlisted-") as folder:
        budget = Budget(rho=2, delta="1e-6")
        offer = Offer(
            name="searches",
            description="What invented people typed into an invented recipe site's search box.",
            source=searches(),
            user="user",
            items=("query", "device"),
            filters=("day", "device"),
            budget=budget,
            items_per_user=10,
            version="1",
        )
        place = str(Path(folder) / "budget.db")
        config = Config(place, {"searches": offer}, port=port, secure_cookies=False)
        with Ledger(place) as ledger:
            declared = {"unit": "user", "adjacency": "add_remove", "source": "a data frame", "version": "1"}
            ledger.create_dataset("searches", budget=budget, **declared)  # type: ignore[arg-type]
            ledger.open("demo", dataset="searches", budget=budget)
            keys = KeyRing(ledger)
            analyst = keys.create("demo analyst", "analyst", {"searches": "demo"})
            admin = keys.create("demo admin", "admin", {"searches": "demo"})
        yield Demo(config, analyst, admin)


def _leave(*_: object) -> NoReturn:
    raise SystemExit(0)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@contextmanager
def _listening(config: Config) -> Iterator[socket.socket]:
    """Open the door before anything else: an address that is taken is a plain refusal."""
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    # Named as TCP, or asyncio leaves it to Nagle: a reply in two pieces then waits for the first to be confirmed.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as door:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            door.bind((config.host, config.port))
        except OSError:
            address = f"{config.host}:{config.port}"
            raise InvalidArgumentError("listen", address, "an address of this machine that is free") from None
        yield door
