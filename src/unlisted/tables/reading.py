"""How a source is read, as far as only its owner can say: types, separators, encodings, dates, time zones.

Nothing is guessed from rows, so what a file does not say itself is said here, once, for Python, the shell and a
service's configuration. Each option is checked before anything is opened. Which of them a source takes, the source
knows; one that it has no use for is refused by name rather than ignored.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType

HELP = {
    "types": "What a column of a text file holds, such as age=int; text otherwise.",
    "sep": "What separates the fields of a CSV file: one character, or tab. A comma otherwise; a tab in .tsv.",
    "encoding": "How the text of a file is encoded: utf-8 (the default), utf-16, latin-1, windows-1252, ...",
    "quote": 'What quotes a field with separators in it: one character, or none; " otherwise.',
    "decimal": "What separates the decimals of a number in a CSV file: a point (the default) or a comma.",
    "header": "The names of the columns, with commas between them, if the first line of a file is a row.",
    "date_format": "How dates and timestamps are written in a text file, such as %d.%m.%Y; 2025-11-30 otherwise.",
    "timezone": "In which zone moments with a time zone are counted and compared, such as Europe/Berlin.",
}
"""Every option, in one line."""

DECLARABLE = tuple(kind for kind in ColumnType if kind.is_plain)
"""What a column of a text file can be declared to hold."""

BY_LINE = "line"
"""`types={"*": "line"}`: no field holds a line break."""

_SIGNS = {r"\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_DIRECTIVES = frozenset("YymdHIMSfpbBjaA%")
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*")


@dataclass(frozen=True)
class Reading:
    """How a source is read. What is None was not said.

    `encoding` is Python's own name for it. `header` are the names of columns where no line names them.
    `date_format` holds for all columns of dates and timestamps under the name "*".
    """

    types: Mapping[str, ColumnType] = field(default_factory=dict)
    by_line: bool = False
    sep: str | None = None
    encoding: str | None = None
    quote: str | None = None
    decimal: str | None = None
    header: tuple[str, ...] | None = None
    date_format: Mapping[str, str] | None = None
    timezone: str | None = None

    @classmethod
    def read(cls, **said: Any) -> Reading:
        """Check what was said; what is None was not."""
        types = said.pop("types", None) or {}
        if not isinstance(types, Mapping):
            raise InvalidArgumentError("types", types, 'a mapping of column to type, such as {"age": "int"}')
        read: dict[str, Any] = {name: _CHECKS[name](value) for name, value in said.items() if value is not None}
        found = cls(_declared(types), types.get("*") == BY_LINE, **read)
        if found.sep is not None and found.sep == found.quote:
            raise InvalidArgumentError("quote", found.quote, "a character other than the separator")
        return found

    def said(self) -> dict[str, Any]:
        """Return what was said, by the names of the arguments."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("types", "by_line")}
        types = {name: kind.value for name, kind in self.types.items()} | ({"*": BY_LINE} if self.by_line else {})
        return {name: value for name, value in {"types": types or None, **given}.items() if value is not None}

    def named(self) -> dict[str, str]:
        """Return what decides which labels there are, as a question remembers it: types, and the rest as a text.

        No column has an empty name.
        """
        said = self.said()
        types: dict[str, str] = said.pop("types", {})
        return {**types, "": json.dumps(said, sort_keys=True)} if said else types

    def only(self, what: str, taken: Iterable[str]) -> None:
        """Refuse what was said that a source has no use for."""
        for name, value in self.said().items():
            if name not in taken:
                raise InvalidArgumentError(name, value, f"left out for {what}", _WHY[name])

    def format_of(self, column: str) -> str | None:
        """Return how the dates of a column are written, if that was said."""
        formats = self.date_format or {}
        return formats.get(column, formats.get("*"))


_WHY = {
    "types": "Its columns have their types; only those of text files are declared.",
    "sep": "Only CSV files have separators.",
    "encoding": "Only text files have an encoding that nobody can tell.",
    "quote": "Only CSV files have quotes.",
    "decimal": "Only CSV files may write decimals with a comma.",
    "header": "Its columns have their names.",
    "date_format": "Its dates need no reading; only those of text files do.",
    "timezone": "It holds no moments with a time zone.",
}


def _declared(types: Mapping[str, str]) -> dict[str, ColumnType]:
    words = {kind.value: kind for kind in DECLARABLE}
    told = {name: word for name, word in types.items() if (name, word) != ("*", BY_LINE)}
    for name, word in told.items():
        if word not in words:
            hint = 'Where a row ends is a matter of all columns: {"*": "line"}.' if word == BY_LINE else ""
            raise InvalidArgumentError(f"types[{name!r}]", word, f"one of {', '.join(words)}", hint)
    return {name: words[word] for name, word in told.items()}


def _sep(value: object) -> str:
    sign = _SIGNS.get(value, value) if isinstance(value, str) else value
    if not isinstance(sign, str) or len(sign) != 1 or sign in "\r\n\0" or sign.isalnum():
        raise InvalidArgumentError("sep", value, "one character, such as ';', or tab")
    return sign


def _quote(value: object) -> str:
    if value in ("", "none"):
        return ""
    if not isinstance(value, str) or len(value) != 1 or value in "\r\n\0" or value.isalnum():
        raise InvalidArgumentError("quote", value, 'one character, such as "\'", or none')
    return value


def _encoding(value: object) -> str:
    hint = "Say one that Python knows, such as utf-8, utf-16, latin-1 or windows-1252."
    try:
        name = codecs.lookup(value).name if isinstance(value, str) else ""
    except (LookupError, ValueError):
        name = ""
    if name in ("utf-8-sig", "utf_8_sig"):
        return "utf-8"
    if name.startswith("utf-8") or re.fullmatch(r"utf-16(-le|-be)?", name) or _has_a_byte_for_each(name):
        return name
    if name:
        hint = "What its bytes mean depends on the bytes before them. Convert the file to UTF-8 first, with iconv."
    raise InvalidArgumentError("encoding", value, "utf-8, utf-16, or a single-byte encoding", hint)


def _has_a_byte_for_each(name: str) -> bool:
    """Return whether every byte is a character by itself, the first 128 as in ASCII."""
    try:
        every, ascii_only = bytes(range(256)).decode(name, "replace"), bytes(range(128)).decode(name)
    except (LookupError, UnicodeError):
        return False
    return len(every) == 256 and ascii_only == bytes(range(128)).decode("ascii")


def _decimal(value: object) -> str:
    sign = {"comma": ",", "point": "."}.get(value, value) if isinstance(value, str) else value
    if sign not in (".", ","):
        raise InvalidArgumentError("decimal", value, "'.' or ','")
    return str(sign)


def _header(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        hint = 'If the first line of the file is a row, name the columns: header=["user", "item"].'
        raise InvalidArgumentError("header", value, "left out, or a list of the names of all columns", hint)
    if isinstance(value, str):
        value = next(csv.reader([value], skipinitialspace=True), [])
    names = tuple(value) if isinstance(value, list | tuple) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgumentError("header", value, "a list of the names of all columns, in their order")
    if len({name.casefold() for name in names}) != len(names):
        raise InvalidArgumentError(
            "header", list(names), "a list of different names; case does not tell them apart"
        )
    return names


def _date_format(value: object) -> dict[str, str]:
    formats = value if isinstance(value, Mapping) else {"*": value}
    for one in formats.values():
        directives = re.findall(r"%-?(.?)", one) if isinstance(one, str) else []
        if not directives or not _DIRECTIVES.issuperset(directives):
            hint = "It is made of %Y (year), %m (month), %d (day), %H, %M, %S (time), as in %d.%m.%Y %H:%M."
            raise InvalidArgumentError("date_format", one, "a format such as %d.%m.%Y", hint)
    return dict(formats)


def _timezone(value: object) -> str:
    import zoneinfo  # noqa: PLC0415 - few need it

    try:
        if isinstance(value, str) and _ZONE.fullmatch(value):
            return zoneinfo.ZoneInfo(value).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise InvalidArgumentError("timezone", value, "the name of a time zone, such as UTC or Europe/Berlin")


_CHECKS = {
    "sep": _sep,
    "encoding": _encoding,
    "quote": _quote,
    "decimal": _decimal,
    "header": _header,
    "date_format": _date_format,
    "timezone": _timezone,
}
