"""Before a service starts: its data sets are in the ledger, and are there what the configuration says they are.

So are its streams: whoever may ask about a data set may look at its streams too, so both spend one budget.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from unlisted.errors import InvalidArgumentError, StreamError
from unlisted.ledger.declarations import NAMELESS, shared_warning, sharing
from unlisted.ledger.display import protects_nobody
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.rows import Page
from unlisted.ledger.state import DatasetState
from unlisted.ledger.terms import amount_of
from unlisted.noise.gaussian.accounting import read_kind
from unlisted.query.counts_elsewhere import read_counts
from unlisted.query.private_counts import PrivateCounts
from unlisted.query.private_table import PrivateTable, table
from unlisted.server.config import Config, Offer, StreamOffer
from unlisted.server.observability import LOG
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
    check_offers(config, known)
    for stream in config.streams.values():
        if not stream.outside_budget:
            _require_paid(stream, config.datasets[stream.dataset], ledger)
    for name, offer in config.datasets.items():
        if name in known:
            _declare_newer(offer, known[name], ledger)
            if offer.failures not in (None, known[name].failures.allowed):
                ledger.allow_failures(offer.failures, dataset=name)
        else:
            _create(offer, ledger)
    _warn(config, ledger)


def check_offers(config: Config, known: Mapping[str, DatasetState]) -> None:
    """Refuse data sets that are not what the ledger says, or whose source or columns are not there."""
    for name, offer in config.datasets.items():
        if name in known:
            _require_same(offer, known[name])
        else:
            _require_columns(offer)
    _require_own_sources(config, known)


def _declare_newer(offer: Offer, held: DatasetState, ledger: Ledger) -> None:
    """Declare a version that the data set was never at. The ledger knows best: a file may be older than it."""
    if offer.version is None or offer.version == held.version:
        return
    if offer.version in ledger.declared_versions(offer.name):
        LOG.warning(
            "The data set %r is at version %r, and was at %r, which the configuration names, before. The ledger's "
            "stands. To go back all the same, say: unlisted dataset version.",
            offer.name,
            held.version,
            offer.version,
        )
        return
    ledger.declare_version(offer.name, offer.version)


def _create(offer: Offer, ledger: Ledger) -> None:
    """Write a new data set into the ledger, unless another server that starts at this moment was first."""
    try:
        ledger.create_dataset(
            offer.name,
            budget=offer.budget,
            kind=offer.kind,
            unit=offer.user,
            adjacency=offer.adjacency,
            source=source_name(offer.source, offer.table),
            version=offer.version,
            failures=offer.failures,
            shares_source=offer.shares_source,
        )
    except InvalidArgumentError as refused:
        found = {one.name: one for one in ledger.datasets()}.get(offer.name)
        if refused.argument != "dataset" or found is None:
            raise
        _require_same(offer, found)


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


def _warn(config: Config, ledger: Ledger) -> None:
    """Warn of sources that two data sets share, and of totals that protect nobody."""
    known = ledger.datasets()
    for one in known:
        if one.name not in config.datasets:
            continue
        if others := sharing(one, known):
            LOG.warning("%s", shared_warning(one, others))
        if weak := protects_nobody(one.total):
            LOG.warning("The data set %r: %s", one.name, weak)


def open_table(offer: Offer) -> PrivateTable | PrivateCounts:
    """Return the table of a data set, of which nothing is read yet; or the counts that its source holds."""
    if offer.counts:
        return read_counts(
            offer.source,
            items_per_user=offer.items_per_user,
            item=list(offer.items),
            count_per_item=offer.rows_per_item,
            fetch=offer.fetch,
            adjacency=offer.adjacency,
            user=offer.user,
        )
    users = offer.declared_users
    return table(offer.source, user=offer.user, table=offer.table, declared_users=users, **offer.reading)


def offered_columns(offer: Offer, rows: PrivateTable | PrivateCounts) -> Mapping[str, ColumnType]:
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
    total = amount_of(offer.budget, read_kind(offer.kind))
    for argument, told, fixed in (
        ("kind", offer.kind, held.kind),
        ("user", offer.user, held.unit),
        ("adjacency", offer.adjacency, held.adjacency),
        ("source", source_name(offer.source, offer.table), held.source),
        ("budget", total.texts, held.total.texts),
    ):
        if fixed is not None and told != fixed:
            raise InvalidArgumentError(
                f"datasets.{offer.name}.{argument}",
                told,
                f"{fixed!r}, as it was opened",
                _HINTS[argument == "source"],
            )


_HINTS = {
    True: "If the same people's rows lie there now, say so: unlisted dataset move. What was spent stays spent.",
    False: "What a data set is never changes. Two data sets about the same people are two budgets, which add up.",
}


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
    number = int(stamp["entry"])
    return any(
        (entry.number, entry.hash) == (number, stamp["hash"]) and entry.body.get("release_sha256") == settings
        for entry in ledger.history_page(dataset, str(stamp["account"]), Page(1, after=number - 1))
    )
