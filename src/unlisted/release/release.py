"""A release: the answer, what it promises, and a receipt. Immutable, and in the order of what was released."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from unlisted.errors import MissingExtraError
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.rounding import round_up
from unlisted.release.html import card, rows_as_html
from unlisted.tables.amounts import SUMS
from unlisted.tables.items import answer_name

if TYPE_CHECKING:
    import altair
    import pandas
    import polars

NUMBERS = ("rank", "count", "low", "high")
"""The columns of an answer that hold its numbers."""

STEADY = ("steady", "steady_low", "steady_high")
"""The columns of a stream's export with running counts that do not fall, made of those that were released."""

_SHOWN_ROWS, _LONGEST_SHOWN = 20, 80

TOTALS = {"users_total": "users", "distinct_total": "different values, of bounded items"}


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """An answer that may be published.

    Attributes:
        table: the item columns, then `count`, `low`, `high` (or `rank`; or, where labels were asked for, nothing).
            `low` and `high` are 95 % intervals, of what `reading` says.
        complete: whether the answer is all there was to say; of a ranking, whether k labels came out.
        guarantee: what the mechanism guarantees, whatever came out: its ceiling.
        at_delta: the total δ at which ε is reported.
        plan: what was asked and how, as plain values.
        time: when it was made.
        stamp: the entry of the ledger that it was paid with, if an account paid.
        spent: what an account was charged: less, where a ranking ended early. Only an account that reserved the
            ceiling first may count that; where none paid it is None, and the guarantees are what adds up.

    Examples:
        >>> table = ul.table(searches(), user="user")
        >>> release = table.histogram("query", budget=ul.Budget(epsilon=1, delta=1e-8)).run()
        >>> [name for name in release[0]]
        ['query', 'count', 'low', 'high']
        >>> release["query"] == [row["query"] for row in release]
        True
    """

    table: pa.Table
    complete: bool
    guarantee: Guarantee
    at_delta: Fraction
    plan: Mapping[str, Any]
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    stamp: Mapping[str, Any] | None = None
    spent: Guarantee | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "plan", frozen(self.plan))
        object.__setattr__(self, "stamp", frozen(self.stamp))

    def __reduce__(self) -> tuple[Any, ...]:
        # A read-only view cannot be pickled; what it shows can.
        kept = (self.table, self.complete, self.guarantee, self.at_delta, thawed(self.plan), self.time)
        return Release, (*kept, thawed(self.stamp), self.spent)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as a list of dicts."""
        return rows_of(self.table)

    @property
    def reading(self) -> str:
        """How the numbers are to be read."""
        from unlisted.release.reading import reading_of  # noqa: PLC0415 - it knows releases

        return reading_of(self)

    @property
    def number_names(self) -> tuple[str, ...]:
        """The columns that hold numbers of the answer."""
        names = (*NUMBERS, *STEADY, *(SUMS if self.plan.get("sum") is not None else ()))
        return tuple(name for name in self.table.column_names if name in names)

    @property
    def item_names(self) -> tuple[str, ...]:
        """The columns that together name an item."""
        return tuple(name for name in self.table.column_names if name not in self.number_names)

    @property
    def is_total(self) -> bool:
        """Whether the answer is one number about all rows."""
        return self.plan.get("mechanism") in TOTALS

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the rows, as dicts."""
        return iter(self.rows)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice | str) -> list[Any]: ...

    def __getitem__(self, at: int | slice | str) -> Any:
        """Return a row by its number, some rows by a slice, or a column by its name."""
        if not isinstance(at, str):
            return self.rows[at]
        if at not in self.table.column_names:
            raise KeyError(at)
        return [row[at] for row in self.rows]

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        """Totals that were asked for, by name, each a `count` with `low` and `high`."""
        from unlisted.release.released_too import totals_of  # noqa: PLC0415 - it knows releases

        return totals_of(self)

    def shares(self) -> list[dict[str, Any]]:
        """Return each item's part of all users with any value, in per cent, with a 95 % interval.

        Examples:
            >>> table = ul.table(searches(), user="user")
            >>> list(table.histogram("query", epsilon=1, with_totals=True).run().shares()[0])
            ['query', 'percent', 'low', 'high']
        """
        from unlisted.release.released_too import shares_of  # noqa: PLC0415 - it knows releases

        return shares_of(self)

    def missing(self, value: Any) -> str:
        """Explain why a value is not in the answer: what it would have needed. No data is looked at.

        Args:
            value: the value; where several columns name an item, a list of their values, or a mapping.
        """
        from unlisted.release.statement import why_missing  # noqa: PLC0415 - it knows releases

        return why_missing(self, value)

    def write_csv(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the rows as CSV, in which no label is a formula to a spreadsheet.

        Args:
            path: the file. One that is there is refused, unless `overwrite` says so.
            overwrite: replace a file that is there.

        Examples:
            >>> counts = ul.counts(["soup", "=1+1"], [900, 800], items_per_user=1)
            >>> release = counts.histogram(budget=ul.Budget(epsilon=1, delta=1e-8)).run()
            >>> release.write_csv("dishes.csv")
            >>> from pathlib import Path
            >>> Path("dishes.csv").read_text().splitlines()[0]
            'item,count,low,high'
        """
        from unlisted.release.export import as_csv, write  # noqa: PLC0415 - it knows releases

        write(path, as_csv(self), overwrite=overwrite)

    def write_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the rows as a Parquet file.

        Args:
            path: the file. One that is there is refused, unless `overwrite` says so.
            overwrite: replace a file that is there.
        """
        from unlisted.release.export import as_parquet, write  # noqa: PLC0415 - it knows releases

        write(path, as_parquet(self), overwrite=overwrite)

    def write_chart(self, path: str | os.PathLike[str], *, most: int = 30, overwrite: bool = False) -> None:
        """Draw the first rows into a file: .svg, .html or .json, or .png as sharp as the shell draws it.

        Args:
            path: the file. One that is there is refused, unless `overwrite` says so.
            most: how many rows to draw.
            overwrite: replace a file that is there.
        """
        from unlisted.release.charts import write_chart  # noqa: PLC0415 - an extra

        write_chart(self, path, most, overwrite=overwrite)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table."""
        return self.table

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a Polars data frame."""
        try:
            import polars as pl  # noqa: PLC0415 - an extra
        except ImportError:
            raise MissingExtraError("A Polars data frame", "polars", "polars") from None
        frame = pl.from_arrow(self.table)
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas data frame."""
        try:
            import pandas as pd  # noqa: F401, PLC0415 - an extra, which PyArrow imports by itself
        except ImportError:
            raise MissingExtraError("A pandas data frame", "pandas", "pandas") from None
        return self.table.to_pandas()

    def chart(self, most: int = 30) -> altair.LayerChart | altair.FacetChart:
        """Return a bar chart of the first rows with their error bars; by group, a small one for each."""
        from unlisted.release.charts import release_chart  # noqa: PLC0415 - an extra

        return release_chart(self, most)

    def statement(self) -> str:
        """Return half a page of plain English about the release, for a manager or a data protection officer."""
        from unlisted.release.statement import statement_of  # noqa: PLC0415 - it knows releases

        return statement_of(self)

    def to_bytes(self) -> bytes:
        """Return the release as bytes that `from_bytes` reads."""
        from unlisted.release.serialize import release_to_bytes  # noqa: PLC0415 - it knows releases

        return release_to_bytes(self)

    @staticmethod
    def from_bytes(data: bytes, *, stamp: Mapping[str, Any] | None = None) -> Release:
        """Read a release that `to_bytes` wrote; `stamp` names the entry of the ledger that it was paid with."""
        from unlisted.release.serialize import release_from_bytes  # noqa: PLC0415 - it knows releases

        return release_from_bytes(data, stamp)

    def as_dict(self) -> dict[str, Any]:
        """Return rows, guarantee, what was spent and plan as plain values: what `--format json` prints."""
        return {
            "rows": [{name: as_plain(value) for name, value in row.items()} for row in self.rows],
            "complete": self.complete,
            "guarantee": guarantee_as_dict(self.guarantee, self.at_delta),
            "spent": None if self.spent is None else spent_as_dict(self.spent),
            "plan": thawed(self.plan),
            **({"totals": self.totals} if self.totals else {}),
        }

    def receipt(self) -> dict[str, Any]:
        """Return what was promised, to whom and how, as plain values; of the rows, how many and their digest.

        A receipt of version 0.1 has no `spent`: its `guarantee` is then what was charged, if an account paid.
        """
        from unlisted.tables.versions import versions  # noqa: PLC0415 - looking packages up takes a while to import

        body = self.as_dict()
        rows = json.dumps(body.pop("rows"), ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
        plan = body["plan"]
        return {
            **body,
            "unit": {"protected": plan.get("unit", "user"), "column": plan.get("user")},
            "adjacency": plan.get("adjacency"),
            "bounds": {name: plan.get(name) for name in ("items_per_user", "rows_per_item", "max_label_bytes")},
            "reading": self.reading,
            "released_rows": len(self),
            "released_sha256": hashlib.sha256(rows).hexdigest(),
            "versions": versions(),
            "time": self.time.isoformat(timespec="seconds"),
            **({} if self.stamp is None else {"ledger": thawed(self.stamp)}),
        }

    def __repr__(self) -> str:
        from unlisted.release.text import as_text  # noqa: PLC0415 - it knows releases

        return as_text(self, _SHOWN_ROWS)

    def _repr_html_(self) -> str:
        from unlisted.release.released_too import totals_as_lines  # noqa: PLC0415 - it knows releases

        body = rows_as_html(self.rows[:_SHOWN_ROWS], self.number_names, len(self))
        lines = [f"{self.reading}.", *totals_as_lines(self), *promises(self)]
        return card(f"Release of {len(self):,} rows", lines=lines, body=body)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as dicts. Times finer than Python's own become text: what is paid for must be readable."""
    for at, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            table = table.set_column(at, column.name, table.column(at).cast(pa.string()))
    return list(table.to_pylist())


def item_columns(labels: pa.Array, items: tuple[str, ...]) -> dict[str, pa.Array]:
    """Name the columns of released labels; several item columns came as a struct."""
    names = [answer_name(item) for item in items]
    if len(names) == 1:
        return {names[0]: labels}
    if not pa.types.is_struct(labels.type):
        # Counts from elsewhere may be an empty list, which has no type.
        return {name: pa.nulls(0, pa.string()) for name in names}
    return dict(zip(names, labels.flatten(), strict=True))


def guarantee_as_dict(guarantee: Guarantee, at_delta: Fraction) -> dict[str, Any]:
    """Return a guarantee as numbers for display: ρ and δ, and ε at a total δ, each rounded up."""
    gaussian = {} if guarantee.mu_squared is None else {"mu_squared": shown_up(guarantee.mu_squared)}
    return {
        "rho": shown_up(guarantee.rho),
        **gaussian,
        "delta": shown_up(guarantee.delta),
        "epsilon": shown_up(guarantee.epsilon(at_delta)),
        "at_delta": shown_up(at_delta),
    }


def spent_as_dict(spent: Guarantee) -> dict[str, Any]:
    """Return what an account was charged as numbers for display, each rounded up: what its ledger adds up."""
    counted = {"rho": spent.rho} if spent.mu_squared is None else {"mu_squared": spent.mu_squared}
    return {name: shown_up(amount) for name, amount in {**counted, "delta": spent.delta}.items()}


def promises(release: Release) -> list[str]:
    """Say what a release promises and, where an account paid, what that account was charged: a line each."""
    lines = [promise(release.guarantee, release.at_delta)]
    if release.spent is not None:
        moved, delta = release.spent.mu_squared, short_up(release.spent.delta, 3)
        counted = f"ρ = {short_up(release.spent.rho, 6)}" if moved is None else f"μ² = {short_up(moved, 6)}"
        lines.append(f"Charged: {counted}, δ = {delta}.")
    return lines


def promise(guarantee: Guarantee, at_delta: Fraction) -> str:
    """Say a guarantee in one line, every number rounded up."""
    rho, epsilon = short_up(guarantee.rho, 6), short_up(guarantee.epsilon(at_delta), 6)
    delta, total = short_up(guarantee.delta, 3), short_up(at_delta, 3)
    said = f"{rho}-zCDP"
    if guarantee.mu_squared is not None:
        said = f"Gaussian DP with μ² = {short_up(guarantee.mu_squared, 6)}"
    return f"Guarantee: ({epsilon}, {total})-DP; also {delta}-approximate {said}."


def shown_up(amount: Fraction) -> float:
    """Return a float that is not below an exact amount, a float being the decimal that it prints."""
    nearest = float(amount)
    return nearest if Fraction(repr(nearest)) >= amount else math.nextafter(nearest, math.inf)


def short_up(amount: Fraction, digits: int) -> str:
    """Write an amount with few digits, rounded up."""
    return f"{shown_up(round_up(amount, digits)):.{digits}g}"


def as_plain(value: Any) -> Any:
    """Return a label as JSON can say it: dates and other types as text, and so infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def printable(value: object) -> str:
    """Return a label as text that cannot move the cursor, hide itself or run over the line."""
    text = escaped(str(value))
    if not text.strip():
        # A label of nothing, or of blanks, would look like no label.
        text = f"'{text}'"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def escaped(text: str, kept: str = "") -> str:
    """Write what is not printable as escapes, but for the characters to be kept."""
    return "".join(c if c.isprintable() or c in kept else c.encode("unicode_escape").decode() for c in text)


def frozen(value: Any) -> Any:
    """Return plain values that nobody can change: mappings read-only, lists as tuples."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(one) for key, one in value.items()})
    return tuple(frozen(one) for one in value) if isinstance(value, list | tuple) else value


def thawed(value: Any) -> Any:
    """Return frozen values as dicts and lists of their own."""
    if isinstance(value, Mapping):
        return {key: thawed(one) for key, one in value.items()}
    return [thawed(one) for one in value] if isinstance(value, list | tuple) else value
