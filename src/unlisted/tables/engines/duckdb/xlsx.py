"""Workbooks of Excel's own format, a zip of XML documents, read row by row and cell by cell.

Who reads a sheet whole lets one cell decide for all: one in the last column of the last row makes a rectangle that
no memory holds, one number that is no date makes a reader give up, and the names of columns cannot be had without
looking at every row. Here the first row is read without the second, only the columns that are wanted are kept, and
a cell that cannot be read is empty.
"""

from __future__ import annotations

import codecs
import datetime
import math
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from xml.parsers import expat

Row = Mapping[int, object]
"""The cells of a row by the place of their column, the first being 0: texts, numbers, moments, and None."""

DAMAGED = (
    zipfile.BadZipFile,
    expat.ExpatError,
    zlib.error,
    OSError,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
)
"""What reading a file may raise that is no workbook, or not whole."""

_PIECE = 2**16
_COLUMNS = 2**14
_LONGEST_NUMBER = 400
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_PLACE = re.compile(r"([A-Z]{1,3})\d{1,7}")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BOOLEANS = {"1": True, "true": True, "0": False, "false": False}

_DAY = 86_400_000
_DAYS = 2_958_466
"""The first day after the year 9999, in days of Excel."""
_LATER_EPOCH = 1_462
"""How many days later a workbook of the first Macs begins to count."""
_DATES = frozenset({*range(14, 23), 45, 47})
_DURATION = 46
_NO_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_ELAPSED = re.compile(r"\[[hms]+\]", re.IGNORECASE)


@dataclass(frozen=True)
class Workbook:
    """The sheets of a workbook by name, in their order, and what their cells refer to."""

    file: zipfile.ZipFile
    sheets: Mapping[str, str]
    texts: Callable[[int], str | None]
    formats: tuple[str, ...]
    """Of each style of cells: whether a number is a `date`, a `duration`, or as empty as this just a number."""
    begins: int

    @classmethod
    def opened(cls, path: str) -> Workbook:
        """Open a workbook and read what it says of its sheets. No row is looked at."""
        file = zipfile.ZipFile(path)
        try:
            book = _target(_relations(file, ""), "/officeDocument")
            about = _Contents()
            _read(file, book, about.start)
            related = _relations(file, book)
            names = {name: related[key][1] for name, key in about.sheets.items() if key in related}
            kinds = {name: related[key][0] for name, key in about.sheets.items() if key in related}
            return cls(
                file,
                {name: part for name, part in names.items() if kinds[name].endswith("/worksheet")},
                _Texts(file, related).text,
                _formats(file, related),
                _LATER_EPOCH if about.is_later else 0,
            )
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def rows(self, sheet: str, wanted: Collection[int] | None = None) -> Iterator[Row]:
        """Yield the rows of a sheet, the first being the sheet's first; of some columns, if these are named."""
        cells = _Cells(self.value, wanted)
        with self.file.open(self.sheets[sheet]) as raw:
            for row in _fed(raw, cells):
                if cells.first is not None and cells.first > 1:
                    cells.first = None
                    yield {}
                yield row

    def value(self, kind: str, style: str, text: str) -> object:
        """Return what a cell says; None for one that is empty, holds an error, or cannot be read."""
        if kind == "s":
            return self.texts(int(text)) if text.isascii() and text.isdigit() and len(text) < 10 else None
        if kind in ("str", "inlineStr"):
            return unescaped(text)
        if kind == "b":
            return _BOOLEANS.get(text.strip())
        if kind == "d":
            return text
        if kind != "n" or len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
            return None
        number = float(text)
        at = int(style) if style.isascii() and style.isdigit() and len(style) < 10 else 0
        told = self.formats[at] if at < len(self.formats) else ""
        return moment(number, told, self.begins) if math.isfinite(number) else None


def unescaped(text: str) -> str:
    """Return a text in which characters that XML does not allow were written as their numbers."""
    if "_x" not in text:
        return text
    plain = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    # Two halves of a character, each by its number, are that character.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def moment(number: float, told: str, begins: int = 0) -> object:
    """Return the date, time or duration that a number stands for; the number if it stands for none."""
    if told == "duration":
        try:
            return datetime.timedelta(milliseconds=round(number * _DAY))
        except OverflowError:
            return number
    number += begins
    if told != "date" or not 0 <= number < _DAYS:
        return number
    days, milliseconds = divmod(round(number * _DAY), _DAY)
    if number < 1:
        return (datetime.datetime.min + datetime.timedelta(milliseconds=milliseconds)).time()
    # Excel has a 29 February 1900, as day 60.
    first = datetime.datetime(1899, 12, 31) if days < 60 else datetime.datetime(1899, 12, 30)
    if days >= _DAYS:
        return number
    found = first + datetime.timedelta(days=days, milliseconds=milliseconds)
    return found if milliseconds else found.date()


@dataclass
class _Cells:
    """Goes over a sheet, and gathers the rows that are complete."""

    value: Callable[[str, str, str], object]
    wanted: Collection[int] | None
    done: list[Row] = field(default_factory=list)
    first: int | None = None
    """The number of the first row, once it was seen."""
    _row: dict[int, object] = field(default_factory=dict)
    _at: int = -1
    _kind: str = "n"
    _style: str = ""
    _pieces: list[str] = field(default_factory=list)
    _listens: bool = False
    _is_spoken: bool = False
    _seen: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "c":
            self._at = _place(attributes.get("r", ""), self._at + 1)
            self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
            self._pieces.clear()
        elif name in ("v", "t"):
            self._listens = not self._is_spoken
        elif name == "rPh":
            self._is_spoken = True
        elif name == "row":
            self._row, self._at = {}, -1
            if not self._seen:
                number = attributes.get("r", "1")
                self.first = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 1
                self._seen = True

    def end(self, name: str) -> None:
        if name in ("v", "t"):
            self._listens = False
        elif name == "rPh":
            self._is_spoken = False
        elif name == "c":
            if self._at < _COLUMNS and (self.wanted is None or self._at in self.wanted) and self._pieces:
                self._row[self._at] = self.value(self._kind, self._style, "".join(self._pieces))
        elif name == "row":
            self.done.append(self._row)

    def text(self, piece: str) -> None:
        if self._listens:
            self._pieces.append(piece)


@dataclass
class _Strings:
    """Goes over the texts that cells share."""

    done: list[str] = field(default_factory=list)
    _pieces: list[str] = field(default_factory=list)
    _listens: bool = False
    _is_spoken: bool = False

    def start(self, name: str, _: Mapping[str, str]) -> None:
        if name == "si":
            self._pieces = []
        elif name == "t":
            self._listens = not self._is_spoken
        elif name == "rPh":
            self._is_spoken = True

    def end(self, name: str) -> None:
        if name == "si":
            self.done.append(unescaped("".join(self._pieces)))
        elif name == "t":
            self._listens = False
        elif name == "rPh":
            self._is_spoken = False

    def text(self, piece: str) -> None:
        if self._listens:
            self._pieces.append(piece)


class _Texts:
    """The texts that cells share, read as far as they are asked for: those of the first row come first."""

    def __init__(self, file: zipfile.ZipFile, related: Mapping[str, tuple[str, str]]) -> None:
        self._known: list[str] = []
        part = _target(related, "/sharedStrings", "")
        self._more = _parts(file, part, _Strings()) if part in file.namelist() else iter(())

    def text(self, number: int) -> str | None:
        while len(self._known) <= number:
            try:
                self._known.append(next(self._more))
            except StopIteration:
                return None
        return self._known[number]


@dataclass
class _Contents:
    """What a workbook says of its sheets."""

    sheets: dict[str, str] = field(default_factory=dict)
    is_later: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sheet":
            key = next((value for key, value in attributes.items() if key.endswith(" id")), "")
            self.sheets.setdefault(attributes.get("name", ""), key)
        elif name == "workbookPr":
            self.is_later = attributes.get("date1904", "") in ("1", "true")


def _formats(file: zipfile.ZipFile, related: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    """Return of each style of cells what its numbers are."""
    part = _target(related, "/styles", "")
    if part not in file.namelist():
        return ()
    codes: dict[str, str] = {}
    used: list[str] = []
    inside: list[str] = []

    def start(name: str, attributes: Mapping[str, str]) -> None:
        if name == "numFmt":
            codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif name in ("cellXfs", "cellStyleXfs"):
            inside.append(name)
        elif name == "xf" and inside and inside[-1] == "cellXfs":
            used.append(attributes.get("numFmtId", ""))

    _read(file, part, start)
    return tuple(format_of(number, codes) for number in used)


def format_of(number: str, codes: Mapping[str, str]) -> str:
    """Return what numbers are in a format: a `date`, a `duration`, or nothing else than numbers."""
    if number in codes:
        code = _NO_FORMAT.sub("", codes[number].partition(";")[0])
        if _ELAPSED.search(code):
            return "duration"
        return "date" if re.search("[dmyhs]", code.replace("General", ""), re.IGNORECASE) else ""
    known = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1
    return "duration" if known == _DURATION else "date" if known in _DATES else ""


def _relations(file: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Return what a part of the file refers to: kinds and parts by their keys."""
    folder, name = posixpath.split(part)
    found: dict[str, tuple[str, str]] = {}

    def start(element: str, attributes: Mapping[str, str]) -> None:
        if element == "Relationship":
            target = posixpath.join("/", folder, attributes.get("Target", ""))
            kind = attributes.get("Type", "")
            found[attributes.get("Id", "")] = (kind, posixpath.normpath(target).lstrip("/"))

    _read(file, posixpath.join(folder, "_rels", f"{name}.rels"), start)
    return found


def _target(related: Mapping[str, tuple[str, str]], kind: str, default: str | None = None) -> str:
    """Return the part of a kind; KeyError if there is none and no default."""
    found = next((part for name, part in related.values() if name.endswith(kind)), default)
    if found is None:
        raise KeyError(kind)
    return found


def _read(file: zipfile.ZipFile, part: str, start: Callable[[str, Mapping[str, str]], None]) -> None:
    """Go over a small part, element by element."""
    parser = _parser()
    parser.StartElementHandler = lambda name, attributes: start(_local(name), attributes)
    parser.Parse(file.read(part), True)  # noqa: FBT003 - and that is all


def _parts(file: zipfile.ZipFile, part: str, handler: Any) -> Iterator[Any]:
    with file.open(part) as raw:
        yield from _fed(raw, handler)


def _fed(raw: IO[bytes], handler: Any) -> Iterator[Any]:
    """Yield what a handler has complete, piece by piece; what comes before something broken is not lost."""
    parser = _parser()
    parser.StartElementHandler = lambda name, attributes: handler.start(_local(name), attributes)
    parser.EndElementHandler = lambda name: handler.end(_local(name))
    parser.CharacterDataHandler = handler.text
    decoder, is_last = None, False
    while not is_last:
        piece = raw.read(_PIECE)
        is_last = not piece
        decoder = decoder or _decoder(piece)
        try:
            parser.Parse(_allowed(decoder.decode(piece, is_last)), is_last)
        except expat.ExpatError:
            yield from handler.done
            raise
        yield from handler.done
        handler.done.clear()


def _decoder(begin: bytes) -> codecs.IncrementalDecoder:
    encoding = "utf-16" if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    return codecs.getincrementaldecoder(encoding)("surrogateescape")


def _allowed(text: str) -> str:
    """Write what XML does not allow as its number, as Excel does: a program that does not breaks no sheet."""
    return _FORBIDDEN.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.EntityDeclHandler = _no_entities
    return parser


def _no_entities(*_: object) -> None:
    raise zipfile.BadZipFile("a workbook declares no entities")


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _place(said: str, following: int) -> int:
    """Return the place of a cell's column, the first being 0; the following one if the cell does not say it."""
    found = _PLACE.fullmatch(said)
    if found is None:
        return following
    place = 0
    for letter in found[1]:
        place = 26 * place + ord(letter) - ord("A") + 1
    return place - 1
