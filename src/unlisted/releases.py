"""A release: the answer, what it promises, and a receipt. Immutable, and in the order of what was released."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from unlisted.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    # Each is imported by the method that returns it: an answer needs none of them.
    import altair
    import pandas
    import polars

_SHOWN_ROWS = 20


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """An answer that may be published.

    `table` holds the item columns and then `count`, `low`, `high` (or `rank`). `complete` says whether the
    answer is all there was to say: for a histogram yes, for the largest counts no, for a ranking whether k
    labels came out. `plan` is what was asked and how, as plain values; `low` and `high` are 95 % intervals of
    the bounded count.
    """

    table: pa.Table
    complete: bool
    guarantee: Guarantee
    at_delta: Fraction
    plan: Mapping[str, Any]
    time: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as a list of dicts."""
        return list(self.table.to_pylist())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table."""
        return self.table

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a Polars data frame."""
        import polars as pl  # noqa: PLC0415 - an extra

        frame = pl.from_arrow(self.table)
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas data frame."""
        return self.table.to_pandas()

    def chart(self, most: int = 30) -> altair.LayerChart:
        """Return a bar chart of the first rows with their error bars."""
        from unlisted.charts import release_chart  # noqa: PLC0415 - an extra

        return release_chart(self, most)

    def as_dict(self) -> dict[str, Any]:
        """Return rows, guarantee and plan as plain values: what `--format json` prints."""
        return {
            "rows": [{name: as_plain(value) for name, value in row.items()} for row in self.rows],
            "complete": self.complete,
            "guarantee": guarantee_as_dict(self.guarantee, self.at_delta),
            "plan": dict(self.plan),
        }

    def receipt(self) -> dict[str, Any]:
        """Return what was promised and how, as plain values; of the data, a digest of what was released."""
        from unlisted import __version__  # noqa: PLC0415 - the package's front door imports this module

        body = self.as_dict()
        rows = json.dumps(body.pop("rows"), ensure_ascii=False, sort_keys=True).encode()
        return {
            **body,
            "released_rows": len(self),
            "released_sha256": hashlib.sha256(rows).hexdigest(),
            "intervals": "low and high are 95 % intervals for the bounded count, given that the item was released",
            "unlisted": __version__,
            "time": self.time.isoformat(timespec="seconds"),
        }

    def __repr__(self) -> str:
        return "\n".join([_as_text(self.table), promise(self.guarantee, self.at_delta)])


def guarantee_as_dict(guarantee: Guarantee, at_delta: Fraction) -> dict[str, Any]:
    """Return a guarantee as numbers for display: ρ and δ, and ε at a total δ, each rounded up."""
    return {
        "rho": shown_up(guarantee.rho),
        "delta": shown_up(guarantee.delta),
        "epsilon": shown_up(guarantee.epsilon(at_delta)),
        "at_delta": shown_up(at_delta),
    }


def promise(guarantee: Guarantee, at_delta: Fraction) -> str:
    """Say a guarantee in one line."""
    numbers = guarantee_as_dict(guarantee, at_delta)
    return (
        f"Promise: {numbers['delta']:.3g}-approximate {numbers['rho']:.6g}-CDP, "
        f"which is ({numbers['epsilon']:.6g}, {numbers['at_delta']:.3g})-DP."
    )


def shown_up(amount: Fraction) -> float:
    """Return a float that is not below an exact amount."""
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)


def as_plain(value: Any) -> Any:
    """Return a label as JSON can say it: dates and other types as text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _as_text(table: pa.Table) -> str:
    """Draw the first rows as a plain table."""
    names = table.column_names
    shown = [[printable(row[name]) for name in names] for row in table.slice(0, _SHOWN_ROWS).to_pylist()]
    widths = [max(len(cell) for cell in column) for column in zip(names, *shown, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (names, *shown)
    ]
    lines.insert(1, "  ".join("─" * width for width in widths))
    if table.num_rows > _SHOWN_ROWS:
        lines.append(f"… and {table.num_rows - _SHOWN_ROWS} more rows")
    return "\n".join(line.rstrip() for line in lines)


def printable(value: object) -> str:
    """Return a label as text that cannot move the cursor, hide itself or run over the line."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(value))
    return text if len(text) <= 80 else text[:79] + "…"
