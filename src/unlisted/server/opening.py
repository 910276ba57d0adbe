"""Before a service starts: its data sets are in the ledger, and are there what the configuration says they are.

So are its streams: whoever may ask about a data set may look at its streams too, so both spend one budget.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.ledger.declarations import NAMELESS, shared_warning, sharing
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import DatasetState
from unlisted.ledger.terms import amount_of
from unlisted.query.private_table import PrivateTable, table
from unlisted.server.config import Config, Offer, StreamOffer
from unlisted.server.watch import LOG
from unlisted.streams.stream import Stream
from unlisted.tables.column_types import ColumnType
from unlisted.tables.count_query import require_column
from unlisted.tables.table import source_name


def open_datasets(config: Config, ledger: Ledger) -> None:
    """Open the data sets that are new, and refuse to start if one is in the ledger with other terms.

    What a ledger says of a data set stays for ever, so a new one's source and columns are looked at first: nothing
    is written unless all are there.
    """
    known = {one.name: one for one in ledger.datasets()}
    for name, offer in config.datasets.items():
        if name in known:
            _require_same(offer, known[name])
        else:
            _require_columns(offer)
    _require_own_sources(config, known)
    for stream in config.streams.values():
        if not stream.outside_budget:
            _require_paid(stream, config.datasets[stream.dataset], ledger)
    for name, offer in config.datasets.items():
        if name in known:
            if offer.version is not None and offer.version != known[name].version:
                ledger.declare_version(name, offer.version)
            if offer.failures not in (None, known[name].failures.allowed):
                ledger.allow_failures(offer.failures, dataset=name)
        else:
            ledger.create_dataset(
                name,
                budget=offer.budget,
                unit=offer.user,
                adjacency=offer.adjacency,
                source=source_name(offer.source, offer.table),
                version=offer.version,
                failures=offer.failures,
                shares_source=offer.shares_source,
            )
    _warn_of_shared_sources(config, ledger)


def _require_own_sources(config: Config, known: Mapping[str, DatasetState]) -> None:
    """Refuse a new data set over the source of another: two budgets for the same people, unless that is meant."""
    taken = {one.source: name for name, one in known.items()}
    for name, offer in config.datasets.items():
        source = source_name(offer.source, offer.table)
        other = taken.setdefault(source, name)
        if other != name and name not in known and not offer.shares_source and source not in NAMELESS:
            hint = "Two budgets for the same people add up. If that is meant, say shares_source = true."
            raise InvalidArgumentError(
                f"datasets.{name}.source", source, f"one that no other data set has; {other!r} has it", hint
            )


def _warn_of_shared_sources(config: Config, ledger: Ledger) -> None:
    known = ledger.datasets()
    for one in known:
        others = sharing(one, known)
        if others and one.name in config.datasets:
            LOG.warning("%s", shared_warning(one, others))


def open_table(offer: Offer) -> PrivateTable:
    """Return the table of a data set. Nothing is read yet."""
    return table(offer.source, user=offer.user, table=offer.table, types=offer.types)


def offered_columns(offer: Offer, rows: PrivateTable) -> Mapping[str, ColumnType]:
    """Return the columns of a source, without touching a row; the offered ones must be among them."""
    columns = rows.columns()
    for argument, names in (("items", offer.items), ("filters", offer.filters)):
        for column in names:
            require_column(f"datasets.{offer.name}.{argument}", column, columns)
    return columns


def _require_columns(offer: Offer) -> None:
    try:
        offered_columns(offer, open_table(offer))
    except InvalidArgumentError as reason:
        if reason.argument.startswith("datasets."):
            raise
        # A table knows its arguments; whoever starts a service knows the names in the configuration.
        argument = f"datasets.{offer.name}.{reason.argument}"
        hint = f"{reason.hint} No data set was written into the ledger.".lstrip()
        raise InvalidArgumentError(argument, reason.value, reason.allowed, hint) from None


def _require_same(offer: Offer, held: DatasetState) -> None:
    total = amount_of(offer.budget)
    for argument, told, fixed in (
        ("user", offer.user, held.unit),
        ("adjacency", offer.adjacency, held.adjacency),
        ("source", source_name(offer.source, offer.table), held.source),
        ("budget", total.texts, held.total.texts),
    ):
        if fixed is not None and told != fixed:
            hint = "What a data set is never changes; give the new one another name."
            raise InvalidArgumentError(f"datasets.{offer.name}.{argument}", told, f"{fixed!r}, as opened", hint)


def _require_paid(offer: StreamOffer, data: Offer, ledger: Ledger) -> None:
    """Refuse a stream that protects others than its data set does, or that no account of the data set paid for."""
    argument = f"streams.{offer.name}.folder"
    try:
        stream = Stream.open(offer.folder)
        protected, is_paid = stream.settings.protected, _is_paid(stream, data.name, ledger)
    except StreamError as reason:
        raise InvalidArgumentError(argument, str(offer.folder), "the folder of a stream", str(reason)) from None
    hint = (
        "Its releases would come on top of the budget. If that is meant, say outside_budget = true in "
        f"[streams.{offer.name}]."
    )
    if protected != data.user:
        allowed = f"a stream that protects {data.user!r}, as the data set {data.name!r} does"
        raise InvalidArgumentError(argument, f"a stream that protects {protected}", allowed, hint)
    if not is_paid:
        allowed = f"a stream that an account of the data set {data.name!r} paid for in this ledger"
        raise InvalidArgumentError(argument, str(offer.folder), allowed, hint)


def _is_paid(stream: Stream, dataset: str, ledger: Ledger) -> bool:
    """Return whether the ledger says that these very settings were paid for on this data set."""
    stamp, settings = stream.stamp, hashlib.sha256(stream.settings.to_bytes()).hexdigest()
    if stamp is None or stamp["dataset"] != dataset:
        return False
    return any(
        (entry.number, entry.hash) == (stamp["entry"], stamp["hash"])
        and entry.body.get("release_sha256") == settings
        for entry in ledger.history(dataset, str(stamp["account"]))
    )
