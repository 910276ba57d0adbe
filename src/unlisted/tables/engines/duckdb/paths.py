"""Which file is read how, by the end of its name."""

from __future__ import annotations

from collections.abc import Mapping

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.csv import Csv, CsvByLine
from unlisted.tables.engines.duckdb.database import Database
from unlisted.tables.engines.duckdb.engine import DuckDBEngine
from unlisted.tables.engines.duckdb.files import ending
from unlisted.tables.engines.duckdb.json_lines import JsonLines
from unlisted.tables.engines.duckdb.text import declared_types, is_by_line

_PARQUET = (".parquet", ".pq")
_DATABASES = (".duckdb", ".ddb", ".db")
_CSV = (".csv", ".tsv")
_JSON_LINES = (".jsonl", ".ndjson", ".json")
_KNOWN = ", ".join((*_PARQUET, *_CSV, *_JSON_LINES, *_DATABASES))


def file_engine(path: str, table: str | None, types: Mapping[str, str] | None) -> DuckDBEngine:
    """Choose how to read a path by what its name ends in. Opens nothing."""
    kind = ending(path)
    if kind in (*_CSV, *_JSON_LINES):
        _refuse("table", table, "a text file is one table already")
        return _text_engine(path, kind, types or {})
    _refuse("types", types, "the columns have their types; only those of text files are declared")
    if kind in _DATABASES:
        return DuckDBEngine(Database(path, table))
    _refuse("table", table, "a Parquet file is one table already")
    if kind in _PARQUET:
        # It brings PyArrow's own reader, which takes a while to import.
        from unlisted.tables.engines.duckdb.parquet import Parquet  # noqa: PLC0415

        return DuckDBEngine(Parquet(path))
    hint = f"What a file holds is told by the end of its name: {_KNOWN}, or compressed text such as .csv.gz."
    raise InvalidArgumentError("source", path, "a file of a known kind", hint)


def _text_engine(path: str, kind: str, types: Mapping[str, str]) -> DuckDBEngine:
    declared, by_line = declared_types(types), is_by_line(types)
    if kind in _JSON_LINES:
        _refuse("types", dict(types) if by_line else None, "a line is a row already")
        return DuckDBEngine(JsonLines(path, declared))
    reader = CsvByLine if by_line else Csv
    return DuckDBEngine(reader(path, declared, "\t" if kind == ".tsv" else ","))


def _refuse(argument: str, value: object, why: str) -> None:
    if value is not None:
        raise InvalidArgumentError(argument, value, "left out for this source", f"Here, {why}.")
