"""What a data set is about: which users, which neighbours, which source. Other questions are refused.

The owner says it when the data set is opened, and the first question fixes what was left open.

Two data sets about one source are two budgets for the same people, and what both spend adds up. So a source
belongs to one data set of a ledger, unless the owner said when the second was opened that it is meant. Data sets
of ledgers from before this was asked go on; who looks at them is told.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa
from sqlalchemy import Connection

from unlisted.errors import InvalidArgumentError
from unlisted.ledger.schema import datasets
from unlisted.ledger.state import DatasetState
from unlisted.privacy.accounting import Accounting
from unlisted.query.charging import Charge

NAMELESS = ("a data frame", "declared counts")
"""What sources are called that lie nowhere: two of one name need not be the same."""

_SAME = sa.select(datasets.c.name).where(
    datasets.c.source == sa.bindparam("source"), datasets.c.name != sa.bindparam("dataset")
)


def require_name(argument: str, name: object) -> None:
    """Refuse what is no name: names are shown in lines, and are looked for by whoever reads them."""
    if not isinstance(name, str) or not name.strip() or len(name) > 200 or not name.isprintable():
        raise InvalidArgumentError(argument, name, "a name of 1 to 200 printable characters")


def require_same_subject(dataset: DatasetState, charge: Charge) -> None:
    """Refuse a question that is about other users, other neighbours or another source than the data set's."""
    for argument, fixed, asked in (
        ("user", dataset.unit, charge.unit),
        ("adjacency", dataset.adjacency, charge.adjacency),
        ("source", dataset.source, charge.source),
    ):
        if fixed is not None and fixed != asked:
            raise InvalidArgumentError(
                argument, asked, f"{fixed!r}, which the data set {dataset.name!r} is about", "Nothing was charged."
            )


def require_same_kind(dataset: DatasetState, accounting: Accounting) -> None:
    """Refuse an account that counts something else than its data set.

    All questions must fit one total: of whichever of two totals still has room, nothing is proved.
    """
    if accounting.name != dataset.kind:
        counted = dataset.accounting
        raise InvalidArgumentError(
            "kind",
            accounting.name,
            f"{counted.name!r}, as the data set {dataset.name!r} is: it adds up {counted.symbol}",
            "A data set and its accounts add up the same quantity: two limits, either of which may still have "
            "room, are no limit. Leave the kind out.",
        )


def require_own_source(connection: Connection, dataset: str, source: str | None, *, shares: bool) -> None:
    """Refuse a source that another data set has, unless the owner said that it is shared."""
    if shares or source is None or source in NAMELESS:
        return
    others = connection.execute(_SAME, {"source": source, "dataset": dataset}).scalars().all()
    if others:
        raise InvalidArgumentError(
            "source",
            source,
            f"one that no other data set of the ledger has; {sorted(others)[0]!r} has it",
            "Two data sets over one source are two budgets for the same people: open an account on "
            f"{sorted(others)[0]!r} instead. If two budgets are meant, open the data set with shares_source "
            "(in a shell --shares-source). Nothing was charged.",
        )


def sharing(dataset: DatasetState, all_datasets: Iterable[DatasetState]) -> list[str]:
    """Return the other data sets that are about the same source, by name."""
    if dataset.source is None or dataset.source in NAMELESS:
        return []
    return sorted(one.name for one in all_datasets if one.source == dataset.source and one.name != dataset.name)


def shared_warning(dataset: DatasetState, others: list[str]) -> str:
    """Say what it means that data sets share a source."""
    names = ", ".join(repr(name) for name in others)
    return (
        f"The data set {dataset.name!r} is about the same source as {names}: what is spent on one comes on top of "
        "what is spent on the other. For one budget, close the accounts of all but one of them."
    )
