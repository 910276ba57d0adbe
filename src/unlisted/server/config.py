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

A name that is not known is refused: a misspelt limit must not be no limit. A password does not belong into this
file; a URL that has one is refused, with the way to say where it is.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.noise.gaussian_accounting import ACCOUNTINGS
from unlisted.privacy.accounting import ZCDP
from unlisted.privacy.guarantee import Budget
from unlisted.privacy.numbers import whole
from unlisted.privacy.sensitivity import Adjacency
from unlisted.query.options import AMOUNTS, read_budget


@dataclass(frozen=True)
class Offer:
    """A data set as analysts meet it: what may be counted, what may be filtered on, and within which bounds.

    `items_per_user` and `rows_per_item` stand in for what a question does not say. `budget` is the total that all
    accounts share, and is written into the ledger when the service first starts. So is `kind`, what is added up,
    and `shares_source`: that another data set may have the same source. `failures` is how many questions of all
    accounts together may fail.
    """

    name: str
    source: Any
    user: str
    items: tuple[str, ...]
    budget: Budget
    filters: tuple[str, ...] = ()
    table: str | None = None
    types: Mapping[str, str] | None = None
    items_per_user: int | None = None
    rows_per_item: int | None = None
    adjacency: Adjacency = "add_remove"
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
    `ledger_limit` is how long the ledger's store may take to answer.
    Previews have threads, a queue and a limit of their own. `_at_once` is how many run, `_waiting` how many more
    may wait.
    """

    time_limit: float = 60.0
    wait_limit: float = 30.0
    preview_limit: float = 10.0
    ledger_limit: float = 15.0
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


def read_config(path: Path) -> Config:
    """Read a configuration file; refuse what is not understood."""
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except OSError:
        raise InvalidArgumentError("--config", str(path), "a file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as broken:
        raise InvalidArgumentError("--config", str(path), f"TOML ({broken})") from None
    top = _Section("", told, path.parent)
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
        secret=top.secret("secret"),
        trusted_proxies=top.names("trusted_proxies"),
        secure_cookies=top.flag("secure_cookies", default=True),
    )
    top.end()
    return config


def _offer(name: str, told: _Section) -> Offer:
    budget = told.section("budget")
    offer = Offer(
        name=name,
        source=told.place("source"),
        user=told.text("user"),
        items=told.names("items"),
        budget=_budget(budget),
        kind=told.choice("kind", *ACCOUNTINGS),
        filters=told.names("filters"),
        table=told.text("table", None),
        types=told.take("types", None),
        items_per_user=told.number("items_per_user"),
        rows_per_item=told.number("rows_per_item"),
        adjacency=told.choice("adjacency", "add_remove", "replace"),
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


def _budget(told: _Section) -> Budget:
    return read_budget({name: told.take(name, None) for name in AMOUNTS})


def _stream(name: str, told: _Section, datasets: Mapping[str, Offer]) -> StreamOffer:
    folder = told.path("folder")
    dataset = told.text("dataset")
    if folder is None or dataset not in datasets:
        allowed = "given, with `dataset`, one of the data sets: whose grants allow to look at it"
        raise InvalidArgumentError(f"streams.{name}.folder", folder, allowed)
    outside = told.flag("outside_budget", default=False)
    offer = StreamOffer(name, folder, dataset, told.text("description", ""), outside)
    told.end()
    return offer


def _limits(told: _Section) -> Limits:
    pad_to = told.seconds("pad_to")
    times = {name: told.seconds(name) for name in ("time_limit", "wait_limit", "preview_limit", "ledger_limit")}
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


_MISSING: Any = object()
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0}


class _Section:
    """A table of the file, read name by name; what nobody asked for is refused at the end."""

    def __init__(self, name: str, told: Any, folder: Path) -> None:
        if not isinstance(told, dict):
            raise InvalidArgumentError(name, type(told).__name__, "a table of names and values")
        self._name, self.told, self._folder = name, told, folder
        self._seen: set[str] = set()

    def take(self, name: str, default: Any = _MISSING) -> Any:
        self._seen.add(name)
        if name in self.told:
            return self.told[name]
        if default is _MISSING:
            raise InvalidArgumentError(self._full(name), None, "given in the configuration")
        return default

    def text(self, name: str, default: Any = _MISSING) -> Any:
        value = self.take(name, default)
        return value if value is default else self._of(str, name, value, "a text")

    def number(self, name: str) -> int | None:
        value = self.take(name, None)
        return None if value is None else whole(self._full(name), value)

    def flag(self, name: str, *, default: bool) -> bool:
        return bool(self._of(bool, name, self.take(name, default), "true or false"))

    def choice(self, name: str, *allowed: str) -> Any:
        value = self.take(name, allowed[0])
        if value not in allowed:
            raise InvalidArgumentError(self._full(name), value, " or ".join(allowed))
        return value

    def names(self, name: str) -> tuple[str, ...]:
        value = self.take(name, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise InvalidArgumentError(self._full(name), value, 'a list of names, such as ["query"]')
        return tuple(value)

    def seconds(self, name: str) -> float | None:
        """Read a length of time, such as "2s", "500ms" or "1min"."""
        value = self.take(name, None)
        if value is None:
            return None
        form = re.fullmatch(r"(\d{1,6})(ms|s|min)", value) if isinstance(value, str) else None
        if form is None or int(form.group(1)) == 0:
            raise InvalidArgumentError(self._full(name), value, 'a length of time such as "2s" or "500ms"')
        return int(form.group(1)) * _UNITS[form.group(2)]

    def path(self, name: str) -> Path | None:
        value = self.text(name, None)
        return None if value is None else self._folder / value

    def secret(self, name: str) -> str | None:
        """Read something that must not stand in the file: where it is, stands there."""
        value = self.take(name, None)
        if value is None or isinstance(value, dict):
            return None if value is None else self._elsewhere(name, value)
        raise InvalidArgumentError(self._full(name), "a text", *_NOT_HERE)

    def place(self, name: str) -> str:
        """Read a path or a URL; one with a password must come from the environment or a file of its own."""
        value = self.take(name)
        if isinstance(value, dict):
            return self._elsewhere(name, value)
        text = str(self._of(str, name, value, "a path, a URL, or { env = … } or { file = … }"))
        if "://" not in text:
            return str(self._folder / text)
        if re.search(r"://[^/]*:[^/]*@", text) or "password=" in text.lower():
            raise InvalidArgumentError(self._full(name), "a URL with a password", *_NOT_HERE)
        return text

    def section(self, name: str) -> _Section:
        return _Section(self._full(name), self.take(name, {}), self._folder)

    def sections(self, name: str) -> dict[str, _Section]:
        outer = self.section(name)
        return {one: outer.section(one) for one in outer.told}

    def end(self) -> None:
        for name in self.told:
            if name not in self._seen:
                known = ", ".join(sorted(self._seen))
                # Its value may be a password, under a name that was misspelt.
                raise InvalidArgumentError(self._full(name), "an unknown name", f"one of: {known}")

    def _elsewhere(self, name: str, told: dict[str, Any]) -> str:
        if set(told) == {"env"} and (value := os.environ.get(str(told["env"]))):
            return value
        if set(told) == {"file"}:
            try:
                return (self._folder / str(told["file"])).read_text("utf-8").strip()
            except OSError:
                raise InvalidArgumentError(self._full(name), told, "a file that can be read") from None
        raise InvalidArgumentError(
            self._full(name), sorted(told), '{ env = "NAME" } of a variable that is set, or { file = … }'
        )

    def _of(self, kind: type, name: str, value: Any, allowed: str) -> Any:
        if not isinstance(value, kind):
            raise InvalidArgumentError(self._full(name), value, allowed)
        return value

    def _full(self, name: str) -> str:
        return f"{self._name}.{name}" if self._name else name


_NOT_HERE = (
    "kept out of this file",
    'Say { env = "NAME" } to read it from the environment, or { file = "/run/secrets/NAME" }.',
)
