"""A release: the answer, what it promises, and a receipt. Immutable, and in the order of what was released."""

from __future__ import annotations

import hashlib
import json
import math
import os
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa

from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.privacy.guarantee import Guarantee
from unlisted.privacy.rounding import round_up

if TYPE_CHECKING:
    # Each is imported by the method that returns it: an answer needs none of them.
    import altair
    import pandas
    import polars

NUMBERS = ("rank", "count", "low", "high")
"""The columns of an answer that hold its numbers."""

STEADY = ("steady", "steady_low", "steady_high")
"""The columns of a stream's export with running counts that do not fall, made of those that were released."""

_SHOWN_ROWS = 20
_LONGEST_SHOWN = 80

STEADY_COUNTS = "steady is computed from the counts that were released, and does not fall"
GIVEN_RELEASED = "low to high is a 95 % interval for the bounded count, given that the item was released"
FRESH_NOISE = "low to high is a 95 % interval for the bounded count"
OF_ALL_USERS = "low to high is a 95 % interval for the count of all users, which no bound made smaller"
ONLY_ORDER = "only the order was released, no counts"
ONLY_LABELS = "only the values were released, no counts and no order"


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """An answer that may be published.

    `table` holds the item columns and then `count`, `low`, `high` (or `rank`; or, where labels were asked for,
    nothing). `complete` says whether the answer is all there was to say: for a histogram and for labels yes, for
    the largest counts no, for a ranking whether k labels came out. `plan` is what was asked and how, as plain
    values; `low` and `high` are 95 % intervals, of what `reading` says.

    `guarantee` is what the mechanism promises, whatever came out: its ceiling. `spent` is what an account was
    charged for the answer: less, where a ranking ended early. Only an account that reserved the ceiling first may
    count that; it is None where no account paid, and then the guarantees are what adds up. `stamp` names the
    entry of the ledger that it was paid with, if an account paid.
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
        names = self.table.column_names
        if "count" not in names:
            return ONLY_ORDER if "rank" in names else ONLY_LABELS
        if "items_in_full" in self.plan.get("released_too", {}):
            return _of_scaled(self.plan["released_too"])
        if "rank" not in names:
            return f"{GIVEN_RELEASED}; {STEADY_COUNTS}" if STEADY[-1] in names else GIVEN_RELEASED
        # The counts of a ranking's winners get noise of their own, whatever the ranking's noise was. Where labels
        # were found first, the bound was for finding them.
        return OF_ALL_USERS if self.plan.get("mechanism") == "label_ranking" else FRESH_NOISE

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
        from unlisted.release.export import as_csv  # noqa: PLC0415 - it knows releases

        _write(path, as_csv(self), overwrite=overwrite)

    def write_parquet(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the rows as a Parquet file.

        Args:
            path: the file. One that is there is refused, unless `overwrite` says so.
            overwrite: replace a file that is there.
        """
        from unlisted.release.export import as_parquet  # noqa: PLC0415 - it knows releases

        _write(path, as_parquet(self), overwrite=overwrite)

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

    def chart(self, most: int = 30) -> altair.LayerChart:
        """Return a bar chart of the first rows with their error bars."""
        from unlisted.release.charts import release_chart  # noqa: PLC0415 - an extra

        return release_chart(self, most)

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
        }

    def receipt(self) -> dict[str, Any]:
        """Return what was promised, to whom and how, as plain values; of the rows, how many and their digest.

        A receipt of version 0.1 has no `spent`: its `guarantee` is then what was charged, if an account paid.
        """
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
            "versions": _versions(),
            "time": self.time.isoformat(timespec="seconds"),
            **({} if self.stamp is None else {"ledger": thawed(self.stamp)}),
        }

    def __repr__(self) -> str:
        return as_text(self, _SHOWN_ROWS)


def _of_scaled(released_too: Mapping[str, Any]) -> str:
    """Say what intervals are of, where users with many of the values count for less in each."""
    in_full, average, most = (
        f"{released_too[name]:,}" for name in ("items_in_full", "hidden_on_average", "hidden_at_most")
    )
    return (
        f"low to high is a 95 % interval for the scaled count: users who have more than {in_full} of these values "
        f"count for less in each, which hides about {average} users of a value on average, and hardly more than "
        f"{most} of any"
    )


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """Return rows as dicts. Times finer than Python's own become text: what is paid for must be readable."""
    for at, column in enumerate(table.schema):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            table = table.set_column(at, column.name, table.column(at).cast(pa.string()))
    return list(table.to_pylist())


def item_columns(labels: pa.Array, items: tuple[str, ...]) -> dict[str, pa.Array]:
    """Name the columns of released labels; several item columns came as a struct."""
    if len(items) == 1:
        return {items[0]: labels}
    if not pa.types.is_struct(labels.type):
        # Counts from elsewhere may be an empty list, which has no type.
        return {name: pa.nulls(0, pa.string()) for name in items}
    return dict(zip(items, labels.flatten(), strict=True))


def as_text(release: Release, most: int | None = None) -> str:
    """Draw a release as a plain table: all rows, or so many of the first."""
    names, shown = release.table.column_names, release.table.slice(0, most)
    # A row of a steady count may have no released one.
    rows = [["" if row[name] is None else printable(row[name]) for name in names] for row in rows_of(shown)]
    lines = [f"Release of {len(release):,} rows: {release.reading}", *_drawn(names, rows)]
    if len(rows) < len(release):
        lines.append(f"… and {len(release) - len(rows):,} more rows")
    return "\n".join([*lines, *promises(release)])


def guarantee_as_dict(guarantee: Guarantee, at_delta: Fraction) -> dict[str, Any]:
    """Return a guarantee as numbers for display: ρ and δ, and ε at a total δ, each rounded up."""
    return {
        "rho": shown_up(guarantee.rho),
        "delta": shown_up(guarantee.delta),
        "epsilon": shown_up(guarantee.epsilon(at_delta)),
        "at_delta": shown_up(at_delta),
    }


def spent_as_dict(spent: Guarantee) -> dict[str, Any]:
    """Return what an account was charged as numbers for display, each rounded up: what its ledger adds up."""
    return {"rho": shown_up(spent.rho), "delta": shown_up(spent.delta)}


def promises(release: Release) -> list[str]:
    """Say what a release promises and, where an account paid, what that account was charged: a line each."""
    lines = [promise(release.guarantee, release.at_delta)]
    if release.spent is not None:
        rho, delta = short_up(release.spent.rho, 6), short_up(release.spent.delta, 3)
        lines.append(f"Charged: ρ = {rho}, δ = {delta}.")
    return lines


def promise(guarantee: Guarantee, at_delta: Fraction) -> str:
    """Say a guarantee in one line, every number rounded up."""
    rho, epsilon = short_up(guarantee.rho, 6), short_up(guarantee.epsilon(at_delta), 6)
    delta, total = short_up(guarantee.delta, 3), short_up(at_delta, 3)
    return f"Guarantee: {delta}-approximate {rho}-CDP, which is ({epsilon}, {total})-DP."


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


def _drawn(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Draw rows of printable texts under their names, as lines; numbers stand to the right."""
    head = [printable(name) for name in names]
    widths = [max(_width(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    rule = ["─" * width for width in widths]
    to_the_right = (*NUMBERS, *STEADY)
    lines = []
    for row in (head, rule, *rows):
        padded = [
            (" " * (width - _width(cell)) + cell) if name in to_the_right else cell + " " * (width - _width(cell))
            for name, cell, width in zip(names, row, widths, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _width(text: str) -> int:
    """Return how many columns of a screen a text takes: wide letters take two, marks on a letter none."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


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


def _versions() -> dict[str, str]:
    """Return the versions of what took part in an answer."""
    # Only a receipt needs these, and looking packages up takes a while to import.
    import platform  # noqa: PLC0415
    from importlib import metadata  # noqa: PLC0415

    from unlisted import __version__  # noqa: PLC0415 - the package's front door imports this module

    others = {name: metadata.version(name) for name in ("cryptography", "duckdb", "numpy", "pyarrow")}
    return {"unlisted": __version__, "python": platform.python_version(), **others}


def _write(path: str | os.PathLike[str], data: bytes, *, overwrite: bool) -> None:
    """Write a file, and refuse to replace one without being told to."""
    try:
        with Path(path).open("wb" if overwrite else "xb") as file:
            file.write(data)
    except FileExistsError:
        hint = "It is there already. Say overwrite=True to replace it."
        raise InvalidArgumentError("path", str(path), "a file that is not there yet", hint) from None
