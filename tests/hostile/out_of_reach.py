"""What no row may do, and one row can: sources in which somebody else's engine reads the rows, and raises.

We see what such a source yields, and it yields nothing. There is no other way in: a LazyFrame and an expression
are plans, and which file is behind them, and what they do with it, is theirs. So the question fails, charged, the
failure is one of the few that the ledger allows, and docs/known-weaknesses.md says so with the way out. That is
all that is excused: what fails must still quote nothing, and a case on this list that is answered after all makes
`test_out_of_reach.py` fail, until it is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.hostile.cells import UNDECODABLE

EXCUSED = "fails with the row only: ChargedFailureError"
TEXTS = ("string", "large_string", "string_view", "dictionary of string", "dictionary of large_string")
NO_TEXT = {
    **dict.fromkeys(TEXTS, (*UNDECODABLE, "ten undecodable megabytes")),
    "json": ("no text",),
    "list of string": ("no text",),
}
"""Bytes that are no UTF-8, by the kinds of columns that a Parquet file declares to be text."""

NO_VALUE = {
    "timestamp[ms]": ("the least",),
    "time32[ms]": ("negative", "most"),
    "time64[us]": ("negative", "most", "least"),
    "json": ("no JSON",),
}
"""What else DuckDB raises on in a Parquet file, though the column may be one that nobody asks about."""


@dataclass(frozen=True)
class OutOfReach:
    """Cells, by kind, that a source cannot be read with in one of its layouts."""

    source: str
    layouts: tuple[str, ...]
    cells: dict[str, tuple[str, ...]]
    why: str


OUT_OF_REACH = (
    OutOfReach(
        "polars scan",
        ("pyarrow", "pyarrow, one row a group"),
        NO_TEXT,
        "Polars decodes the texts of a Parquet file when its owner's plan runs, and raises. Pass the path.",
    ),
    OutOfReach(
        "ibis duckdb",
        ("parquet",),
        {**NO_TEXT, **NO_VALUE, "json": (*NO_TEXT["json"], *NO_VALUE["json"])},
        "The owner's own DuckDB reads the Parquet file behind the expression, and raises. Pass the path.",
    ),
)


def is_out_of_reach(source: str, layout: str, kind: str, cell: str) -> bool:
    """Whether a cell is excused."""
    return any(
        source == one.source and layout in one.layouts and cell in one.cells.get(kind, ()) for one in OUT_OF_REACH
    )
