"""`unlisted.toml`: what a service offers, to what total, and where it listens.

    ledger = { env = "UNLISTED_LEDGER" }          # or a path, or { file = "/run/secrets/ledger" }
    listen = "127.0.0.1:8080"

    [datasets.searches]
    source = "searches.parquet"                   # paths are relative to this file
    user = "user_id"
    items = ["query"]
    filters = ["day", "device"]
    budget = { epsilon = 1, delta = 1e-6 }        # or rho, or mu_squared for kind = "gaussian"
    items_per_user = 10

Who may ask is in the ledger (`auth.py`), and for single sign-on in a section of its own (`sign_on/settings.py`).
The data sets are those of the project (`query/project_file.py`), which Python and the shell read too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian.accounting import ACCOUNTINGS
from unlisted.privacy.accounting import ZCDP
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.options import AMOUNTS, read_total
from unlisted.query.project_file import Section, read_toml, source_of
from unlisted.server.sign_on.settings import SignOnSettings, read_sign_on


@dataclass(frozen=True)
class Offer:
    """A data set as analysts meet it: what may be counted, what may be filtered on, and within which bounds.

    `items_per_user` and `rows_per_item` stand in for what a question does not say. `budget` is the total that all
    accounts share, and is written into the ledger when the service first starts. So is `kind`, what is added up,
    and `shares_source`: that another data set may have the same source. `failures` is how many questions of all
    accounts together may fail. With `counts` the source is counts that another system made, read when the service
    starts, of which the `fetch` + 1 largest if that is said; its bounds are then what was declared of them.
    """

    name: str
    source: Any
    user: str
    items: tuple[str, ...]
    budget: Budget
    filters: tuple[str, ...] = ()
    table: str | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    items_per_user: int | None = None
    rows_per_item: int | None = None
    adjacency: Adjacency = "add_remove"
    declared_users: int | None = None
    counts: bool = False
    fetch: int | None = None
    version: str | None = None
    description: str = ""
    failures: int | None = None
    shares_source: bool = False
    kind: str = ZCDP.name


@dataclass(frozen=True)
class StreamOffer:
    """A stream whose releases may be looked at by whoever has a grant on its data set.

    An account of the data set must have paid for it, unless the owner says that it is `outside_budget`.
    """

    name: str
    folder: Path
    dataset: str
    description: str = ""
    outside_budget: bool = False


@dataclass(frozen=True)
class Limits:
    """What callers may ask of the machine.

    `time_limit` is how long the engine may take for a question, and `wait_limit` how long a question may wait for
    its turn; `pad_to` is when every answer to a question is sent, after the engine began. All are in seconds.
    `ledger_limit` is how long the ledger's store may take to answer, and `drain` how long a service that is told
    to stop goes on while `/ready` says that it is not ready.
    Previews have threads, a queue and a limit of their own. `_at_once` is how many run, `_waiting` how many more
    may wait.
    """

    time_limit: float = 60.0
    wait_limit: float = 30.0
    preview_limit: float = 10.0
    ledger_limit: float = 15.0
    drain: float = 0.0
    pad_to: float | None = None
    body_bytes: int = 65_536
    requests_per_minute: int = 600
    questions_at_once: int = 4
    questions_waiting: int = 64
    previews_at_once: int = 2
    previews_waiting: int = 32
    previews_per_key: int = 4
    fetch: int = 100_000

    def __post_init__(self) -> None:
        if self.pad_to is not None and self.time_limit > self.pad_to:
            hint = "An answer that takes longer could not be sent at a fixed time."
            raise InvalidArgumentError("time_limit", self.time_limit, f"at most pad_to, {self.pad_to:g} s", hint)


@dataclass(frozen=True)
class Config:
    """A whole service. `secret` signs the cookies of the console; None makes one up at each start."""

    ledger: str
    datasets: Mapping[str, Offer]
    streams: Mapping[str, StreamOffer] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int = 8080
    limits: Limits = field(default_factory=Limits)
    owner_log: Path | None = None
    secret: str | None = field(default=None, repr=False)
    trusted_proxies: tuple[str, ...] = ()
    secure_cookies: bool = True
    sso: SignOnSettings | None = None


def read_config(path: Path) -> Config:
    """Read a configuration file; refuse what is not understood."""
    top = Section("", read_toml(path, "--config"), path.parent)
    datasets = {name: _offer(name, one) for name, one in top.sections("datasets").items()}
    if not datasets:
        raise InvalidArgumentError("datasets", "none", "at least one [datasets.NAME]")
    host, port = _listen(top.text("listen", "127.0.0.1:8080"))
    config = Config(
        ledger=top.place("ledger"),
        datasets=datasets,
        streams={name: _stream(name, one, datasets) for name, one in top.sections("streams").items()},
        host=host,
        port=port,
        limits=_limits(top.section("limits")),
        owner_log=top.path("owner_log"),
        secret=_long_enough(top.secret("secret")),
        trusted_proxies=top.names("trusted_proxies"),
        secure_cookies=top.flag("secure_cookies", default=True),
        sso=read_sign_on(top.section("sso"), datasets),
    )
    top.end()
    return config


LEAST_SECRET = 32
"""So many characters has a secret that nobody guesses, if they are random."""


def _long_enough(secret: str | None) -> str | None:
    """Refuse a secret that is empty or short: whoever guesses it can open cookies."""
    if secret is not None and len(secret) < LEAST_SECRET:
        hint = (
            "Make one: python -c 'import secrets; print(secrets.token_urlsafe(32))'. Leave it out for one server."
        )
        raise InvalidArgumentError(
            "secret", "one that is too short", f"{LEAST_SECRET} random characters or more", hint
        )
    return secret


def _offer(name: str, told: Section) -> Offer:
    budget = told.section("budget")
    offer = Offer(
        name=name,
        **source_of(told),
        items=told.names("items"),
        budget=_budget(budget),
        kind=told.choice("kind", *ACCOUNTINGS),
        filters=told.names("filters"),
        version=told.text("version", None),
        description=told.text("description", ""),
        failures=told.number("failures"),
        shares_source=told.flag("shares_source", default=False),
    )
    budget.end()
    told.end()
    if not offer.items:
        raise InvalidArgumentError(f"datasets.{name}.items", (), "the columns that may be counted, at least one")
    return offer


def _budget(told: Section) -> Budget:
    return read_total({name: told.take(name, None) for name in AMOUNTS})


def _stream(name: str, told: Section, datasets: Mapping[str, Offer]) -> StreamOffer:
    folder = told.path("folder")
    dataset = told.text("dataset")
    if folder is None or dataset not in datasets:
        allowed = "given, with `dataset`, one of the data sets: whose grants allow to look at it"
        raise InvalidArgumentError(f"streams.{name}.folder", folder, allowed)
    outside = told.flag("outside_budget", default=False)
    offer = StreamOffer(name, folder, dataset, told.text("description", ""), outside)
    told.end()
    return offer


def _limits(told: Section) -> Limits:
    pad_to = told.seconds("pad_to")
    said = ("time_limit", "wait_limit", "preview_limit", "ledger_limit", "drain")
    times = {name: told.seconds(name) for name in said}
    times["time_limit"] = times["time_limit"] or pad_to
    limits = replace(Limits(), pad_to=pad_to, **{name: value for name, value in times.items() if value})  # type: ignore[arg-type]
    counted = {one.name for one in fields(Limits)} - {"pad_to", *times}
    given = {name: told.number(name) for name in counted if name in told.told}
    told.end()
    return replace(limits, **given)  # type: ignore[arg-type]


def _listen(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise InvalidArgumentError("listen", text, "HOST:PORT, such as 127.0.0.1:8080")
    return host.strip("[]"), int(port)
