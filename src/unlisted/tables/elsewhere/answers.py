"""Counts that came back from another system, in whatever form it hands them over: CSV, JSON, Parquet, an object.

An answer to a statement of ours says itself within which bounds it was counted (`header.py`). Of any other the
owner must say it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from unlisted.counts.readable import readable_labels
from unlisted.errors import InvalidArgumentError, InvalidCountsError
from unlisted.tables.elsewhere.header import ABOUT, COUNT, FORM, IN_ALL, Header, label_column
from unlisted.tables.elsewhere.search_engines import counts_in

__all__ = ["ALLOWED", "Answer", "read_answer"]

ALLOWED = "a CSV, JSON or Parquet file of labels and counts, or the parsed JSON answer of a search engine"
_SEPARATORS = {".csv": ",", ".txt": ",", ".tsv": "\t"}
_USUAL_COUNTS = ("count", "n", "users", "num_users", "count(*)", "doc_count")


@dataclass(frozen=True)
class Answer:
    """Labels and counts, and what is known of them.

    `header` is what an answer to a statement of ours says. `is_cut` tells that a system always cuts its answers
    off somewhere, so that only the owner knows where.
    """

    items: tuple[str, ...]
    labels: pa.Array
    counts: Any
    header: Header | None = None
    is_cut: bool = False


def read_answer(source: Any, items: Sequence[str] | None = None, count: str | None = None) -> Answer:
    """Read what another system counted: a file, or a parsed JSON answer.

    `items` and `count` name the columns of labels and of counts, where the answer is not to a statement of ours.
    """
    if isinstance(source, str | os.PathLike):
        found = _file(Path(source))
    elif isinstance(source, Mapping | list):
        found = source
    else:
        raise InvalidArgumentError("source", type(source).__name__, ALLOWED)
    if isinstance(found, Mapping):
        name, labels, counts = counts_in(found)
        return Answer(tuple(items or (name,)), _array(labels), counts, is_cut=True)
    rows = found if isinstance(found, pa.Table) else _table(found)
    folded = [name.casefold() for name in rows.column_names]
    if len(set(folded)) != len(folded):
        raise InvalidArgumentError("source", "columns of one name", ALLOWED)
    if ABOUT in folded:
        return _ours(rows.rename_columns(folded))
    return _declared(rows, items, count)


def _file(path: Path) -> Any:
    """Return a table, or what a JSON file holds."""
    suffix = path.suffix.lower()
    try:
        if suffix in _SEPARATORS:
            return _csv(path, _SEPARATORS[suffix])
        if suffix == ".json":
            return json.loads(path.read_bytes())
        if suffix in (".jsonl", ".ndjson"):
            return [json.loads(line) for line in path.read_bytes().splitlines() if line.strip()]
        if suffix in (".parquet", ".pq"):
            import pyarrow.parquet as pq  # noqa: PLC0415 - most answers are text

            return pq.read_table(path)
    except OSError:
        raise InvalidArgumentError("source", str(path), "a file that can be read") from None
    except (ValueError, pa.ArrowException, RecursionError):
        # What is wrong with a line is not said: it is a label and a true count.
        hint = "Export it again, in UTF-8, with a line of column names."
        raise InvalidArgumentError(
            "source", str(path), f"what its name says, {suffix[1:].upper()}", hint
        ) from None
    raise InvalidArgumentError("source", str(path), ALLOWED, "Its name must end in .csv, .tsv, .json or .parquet.")


def _csv(path: Path, separator: str) -> pa.Table:
    import pyarrow.csv as pc_csv  # noqa: PLC0415 - some answers are JSON

    with path.open("rb") as file:
        names = pc_csv.open_csv(file, parse_options=_parsing(separator)).schema.names
    texts = dict.fromkeys(names, pa.string())
    reading = pc_csv.ConvertOptions(column_types=texts, strings_can_be_null=False)
    return pc_csv.read_csv(path, parse_options=_parsing(separator), convert_options=reading)


def _parsing(separator: str) -> Any:
    import pyarrow.csv as pc_csv  # noqa: PLC0415 - as above

    return pc_csv.ParseOptions(delimiter=separator, newlines_in_values=True)


def _table(rows: list[Any]) -> pa.Table:
    if not all(isinstance(row, Mapping) for row in rows) or len({tuple(sorted(row)) for row in rows}) > 1:
        raise InvalidArgumentError("source", "a JSON list", "a list of objects that all have the same names")
    names = list(rows[0]) if rows else []
    return pa.table({name: _array([row[name] for row in rows]) for name in names})


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError):
        raise InvalidCountsError("Labels must be of one kind: texts, numbers or dates.") from None


def _ours(rows: pa.Table) -> Answer:
    """Read the answer to a statement of ours: nothing may be missing, added or mixed."""
    about = rows.column(ABOUT).cast(pa.string())
    is_header = pc.starts_with(about, FORM[: FORM.rindex("-")]).combine_chunks()
    headers = about.filter(is_header).to_pylist()
    if len(headers) != 1:
        raise InvalidCountsError(
            f"There is not one row whose column {ABOUT!r} says what was counted, but {len(headers)}. Export the "
            "whole answer to one statement."
        )
    header = Header.read(headers[0])
    wanted = [label_column(at) for at in range(len(header.items))]
    missing = [name for name in (*wanted, COUNT, IN_ALL) if name not in rows.column_names]
    if missing:
        raise InvalidCountsError(f"The columns {', '.join(missing)} of the answer are missing. Export all of it.")
    counted = rows.filter(pc.invert(is_header))
    names = set(counted.column(ABOUT).cast(pa.string()).to_pylist())
    sizes = set(_whole(counted.column(IN_ALL)))
    if names - {header.statement} or sizes - {counted.num_rows}:
        raise InvalidCountsError(
            "Rows are missing, or some are of another answer: every row says how many there are, and of which "
            "statement. Export the whole answer to one statement; many programs show only the first rows."
        )
    columns = [_texts(counted.column(name)) for name in wanted]
    labels = columns[0] if len(columns) == 1 else pa.StructArray.from_arrays(columns, names=list(header.items))
    labels = readable_labels(labels)
    there = labels.is_valid()
    counts = pa.array(_whole(counted.column(COUNT)), pa.int64())
    return Answer(header.items, labels.filter(there), counts.filter(there), header)


def _texts(column: pa.ChunkedArray) -> pa.Array:
    """Return the texts whose bytes are written as hexadecimal digits; null where they are no text."""
    texts: list[str | None] = []
    for digits in column.cast(pa.string()).to_pylist():
        try:
            texts.append(bytes.fromhex(digits).decode())
        except UnicodeDecodeError:
            texts.append(None)
        except (TypeError, ValueError):
            raise InvalidCountsError(
                "A label is not written in hexadecimal digits, as it was handed over."
            ) from None
    return pa.array(texts, pa.string())


def _declared(rows: pa.Table, items: Sequence[str] | None, count: str | None) -> Answer:
    """Read labels and counts by the names of their columns."""
    counted = _count_column(rows.column_names, count)
    names = tuple(items or [name for name in rows.column_names if name != counted])
    for name in names:
        if name not in rows.column_names or name == counted:
            raise InvalidArgumentError("item", name, f"a column of labels in the file: {_listed(rows, counted)}")
    if not names:
        raise InvalidArgumentError("source", "one column", "a column of labels beside that of counts")
    columns = [rows.column(name).combine_chunks() for name in names]
    labels = columns[0] if len(names) == 1 else pa.StructArray.from_arrays(columns, names=list(names))
    return Answer(names, labels, pa.array(_whole(rows.column(counted)), pa.int64()))


def _count_column(names: Sequence[str], said: str | None) -> str:
    found = [name for name in names if (name == said if said else name.casefold() in _USUAL_COUNTS)]
    if len(found) != 1:
        hint = "Name the column of counts: --count-column NAME, or count_column= in Python."
        raise InvalidArgumentError("count_column", said, f"one of the file's columns: {', '.join(names)}", hint)
    return found[0]


def _listed(rows: pa.Table, counted: str) -> str:
    return ", ".join(name for name in rows.column_names if name != counted)


def _whole(column: pa.ChunkedArray) -> list[int]:
    """Read whole numbers, which some systems write as texts or with a fraction of zero."""
    try:
        numbers: list[int] = column.cast(pa.int64()).to_pylist()
    except pa.ArrowException:
        numbers = [None]  # type: ignore[list-item]
    if None in numbers:
        raise InvalidCountsError("Counts must be whole numbers: no fractions, no text, no missing values.")
    return numbers
