"""Before a service starts: its data sets are in the ledger, and are there what the configuration says they are."""

from __future__ import annotations

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.ledger import Ledger
from unlisted.ledger.state import DatasetState
from unlisted.ledger.terms import amount_of
from unlisted.server.config import Config, Offer
from unlisted.tables.table import source_name


def open_datasets(config: Config, ledger: Ledger) -> None:
    """Open the data sets that are new, and refuse to start if one is in the ledger with other terms."""
    known = {one.name: one for one in ledger.datasets()}
    for name, offer in config.datasets.items():
        if name in known:
            _require_same(offer, known[name])
            if offer.version is not None and offer.version != known[name].version:
                ledger.declare_version(name, offer.version)
        else:
            ledger.create_dataset(
                name,
                budget=offer.budget,
                unit=offer.user,
                adjacency=offer.adjacency,
                source=source_name(offer.source, offer.table),
                version=offer.version,
            )


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
