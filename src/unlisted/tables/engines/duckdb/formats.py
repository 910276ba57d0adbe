"""Which file is read how: by the end of its name. A folder is read as the files in it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb.engine import DuckDBEngine
from unlisted.tables.engines.duckdb.files import Place, ending, files_in
from unlisted.tables.reading import Reading

CSV = (".csv", ".tsv", ".txt")
JSON = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc", ".arrows")
WORKBOOK = (".xlsx", ".xlsm")
DATABASE = (".duckdb", ".ddb", ".db")
SQLITE = (".sqlite", ".sqlite3")
SQLITE_BEGINS = b"SQLite format 3"
FORMATS = {
    CSV: ("csv", "csv_files"),
    JSON: ("json", "Json"),
    PARQUET: ("parquet", "Parquet"),
    ARROW: ("arrow_files", "ArrowFiles"),
    WORKBOOK: ("excel", "Excel"),
    DATABASE: ("database", "Database"),
    SQLITE: ("sqlite", "Sqlite"),
}
"""What names of files end in, by format; and who reads it, of whom only that one is imported."""

_PACKED = (".zip", ".bz2", ".xz", ".zst", ".lz4", ".7z", ".tar", ".tgz", ".rar")
_STRANGERS = {
    **dict.fromkeys(_PACKED, "Unpack it first; of compressed files only .gz is read, such as .csv.gz."),
    **dict.fromkeys((".xls", ".xlsb", ".ods"), "Open it in Excel or LibreOffice and save it as .xlsx."),
    **dict.fromkeys((".orc", ".avro"), "Convert it to Parquet first."),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat", ".rds", ".rdata"), "Export it as Parquet or CSV first."),
}
_KNOWN = ", ".join(one for format_ in FORMATS for one in format_)


def file_engine(
    paths: str | Sequence[str], table: str | None = None, reading: Reading | None = None
) -> DuckDBEngine:
    """Choose how to read files by what their names end in. Opens none; of a folder, the names in it are read."""
    given = [paths] if isinstance(paths, str) else list(paths)
    reading = reading or Reading()
    formats = {_format_of(path): path for path in given}
    if len(formats) != 1:
        hint = (
            f"They are of different kinds, such as {' and '.join(formats.values())}. Read those of one at a time."
        )
        raise InvalidArgumentError("source", given, "files of one kind", hint)
    (endings,) = formats
    module, reader = FORMATS[endings]
    opened = getattr(import_module(f"{__package__}.{module}"), reader)
    return DuckDBEngine(opened(Place(given, endings), reading, table))


def _format_of(path: str) -> tuple[str, ...]:
    """Return the endings of the format that a path leads to."""
    folder = Path(path).expanduser()
    if folder.is_dir():
        return _format_in(path, folder)
    return _format_named(path, ending(path))


def _format_in(path: str, folder: Path) -> tuple[str, ...]:
    """Return the endings of the one format that a folder holds files of; notes may lie there too."""
    there = {ending(name) for name in files_in(str(folder))}
    found = [format_ for format_ in FORMATS if format_ not in (DATABASE, SQLITE) and there & {*format_}]
    if len(found) != 1:
        listed = ", ".join(sorted(there)) or "no files"
        hint = f"In it are {listed}. Name the files of one kind with a glob, such as {path.rstrip('/')}/*.parquet."
        raise InvalidArgumentError("source", path, "a folder of files of one kind", hint)
    return found[0]


def _format_named(path: str, kind: str) -> tuple[str, ...]:
    if kind in DATABASE and _is_sqlite(path):
        return SQLITE
    for format_ in FORMATS:
        if kind in format_:
            return format_
    if not kind and not Path(path).exists():
        raise InvalidArgumentError("source", path, "a file or a folder that exists")
    told = f"What a file holds is told by the end of its name: {_KNOWN}, or compressed text such as .csv.gz."
    raise InvalidArgumentError("source", path, "a file of a known kind", _STRANGERS.get(kind, told))


def _is_sqlite(path: str) -> bool:
    """Return whether a file, whose name says no more than that it is a database, is one of SQLite."""
    with suppress(OSError, ValueError), Path(path).expanduser().open("rb") as file:
        return file.read(len(SQLITE_BEGINS)) == SQLITE_BEGINS
    return False
