"""An answer as bytes: JSON, CSV, Parquet. Labels are hostile text, and each format has its own way to be safe."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from unlisted.errors import InvalidArgumentError
from unlisted.release.release import Release, rows_of
from unlisted.release.released_too import with_totals

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet takes for the start of a formula."""


def as_json(value: object) -> bytes:
    """Return JSON in which whatever a terminal could obey is an escape; programs read the same text."""
    lines = json.dumps(value, ensure_ascii=False, indent=2).split("\n")
    safe = (line if line.isprintable() else "".join(map(_escaped, line)) for line in lines)
    return ("\n".join(safe) + "\n").encode()


def as_csv(release: Release) -> bytes:
    """Return CSV with a header line."""
    table = with_totals(release)
    return csv_head(table) + csv_rows(table)


def csv_head(table: pa.Table) -> bytes:
    """Return the header line of a CSV file."""
    return _lines([table.column_names])


def csv_rows(table: pa.Table) -> bytes:
    """Return rows as the lines of a CSV file."""
    return _lines(row.values() for row in rows_of(table))


def _lines(rows: Iterable[Iterable[object]]) -> bytes:
    text = "".join(",".join(map(_cell, row)) + "\n" for row in rows)
    return text.encode("utf-8", "backslashreplace")


def as_parquet(release: Release) -> bytes:
    """Return a Parquet file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only this format needs it

    buffer = io.BytesIO()
    pq.write_table(with_totals(release), buffer)
    return buffer.getvalue()


def _escaped(c: str) -> str:
    return c if c.isprintable() else json.dumps(c)[1:-1]


def _cell(value: object) -> str:
    """Return a cell that a spreadsheet reads as text: what looks like a formula gets a quote in front.

    Written here, because Python's own writer leaves a carriage return bare, which many readers take for a new row.
    """
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, str) and text.startswith(_FORMULA_STARTS):
        text = f"'{text}"
    if not text or any(c in text for c in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def write(path: str | os.PathLike[str], data: bytes, *, overwrite: bool) -> None:
    """Write a file, and refuse to replace one without being told to."""
    try:
        with Path(path).open("wb" if overwrite else "xb") as file:
            file.write(data)
    except FileExistsError:
        hint = "It exists already. Pass overwrite=True to replace it."
        raise InvalidArgumentError("path", str(path), "a file that does not exist yet", hint) from None
