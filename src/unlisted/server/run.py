"""Running a service: its logs, its socket, uvicorn; and the demo, which makes up all that a service needs."""

from __future__ import annotations

import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

import uvicorn

from unlisted.demo.searches import searches
from unlisted.errors import InvalidArgumentError
from unlisted.ledger.display import protects_nobody
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import DatasetState
from unlisted.ledger.terms import amount_of
from unlisted.noise.gaussian.accounting import read_kind
from unlisted.privacy.guarantee import Budget
from unlisted.server.app import make_app
from unlisted.server.auth import KeyRing
from unlisted.server.config import Config, Offer
from unlisted.server.observability import Readiness, log_to_stderr
from unlisted.server.startup import check_offers
from unlisted.tables.failures import causes_kept_in

_LAST_SECONDS = 10
"""How long running questions get when the service is told to stop. Then they are cancelled, and charged."""


_IDLE_SECONDS = 150
"""How long a connection may be idle: longer than proxies keep theirs, which would else send into a closing one."""


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
        readiness = Readiness()
        app = make_app(config, ledger, readiness)
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
            timeout_keep_alive=_IDLE_SECONDS,
            ws="none",
        )
        _Server(settings, readiness, config.limits.drain).run(sockets=[door])


class _Server(uvicorn.Server):
    """Says on /ready that it is about to stop, goes on for a while so that proxies notice, and stops then."""

    def __init__(self, settings: uvicorn.Config, readiness: Readiness, seconds: float) -> None:
        super().__init__(settings)
        self._readiness, self._seconds = readiness, seconds

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Lower /ready first; a second signal stops at once."""
        if self._readiness.stopping or not self._seconds:
            self._readiness.stopping = True
            super().handle_exit(sig, frame)
            return
        self._readiness.stopping = True
        later = threading.Timer(self._seconds, super().handle_exit, (sig, None))
        later.daemon = True
        later.start()


def check(config: Config) -> list[str]:
    """Look whether a service could start with a configuration, and return what it would offer. Nothing is written.

    The ledger must be there and up to date, except on the first start, and every source and column must be.
    """
    known: dict[str, DatasetState] = {}
    opened: set[tuple[str, str]] = set()
    said = []
    try:
        with Ledger(config.ledger, read_only=True, timeout=config.limits.ledger_limit) as ledger:
            known = {one.name: one for one in ledger.datasets()}
            opened = {(name, one.name) for name, one in ledger.accounts()}
    except InvalidArgumentError as missing:
        if missing.argument != "ledger":
            raise
        said.append("The ledger is not there yet, and will be made.")
    check_offers(config, known)
    for name, offer in sorted(config.datasets.items()):
        held = known.get(name)
        version = offer.version if held is None else held.version
        state = "new to the ledger" if held is None else f"version {version}" if version else "no version"
        said.append(f"{name}: {len(offer.items)} columns to count, {state}")
        if weak := protects_nobody(amount_of(offer.budget, read_kind(offer.kind))):
            said.append(f"{name}: {weak}")
    if config.sso is not None:
        said.append(f"People sign in at {config.sso.issuer}, back to {config.sso.callback}")
        accounts = {one for group in config.sso.groups.values() for one in group.grants.items()}
        said += [
            f"sso: the data set {name} has no account {account} yet" for name, account in sorted(accounts - opened)
        ]
    return said


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
