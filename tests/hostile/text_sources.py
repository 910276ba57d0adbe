"""CSV and JSON files, and workbooks, with hostile fields and lines, plain and compressed, in several encodings."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.hostile.cells import TEXTS, UNDECODABLE, Cell, Kind, Leaves, Line
from tests.hostile.rows import ROLES, Rows
from tests.hostile.sources import Source, Workshop
from tests.hostile.text_cells import csv_kinds, json_kinds
from tests.hostile.workbook_cells import WORKBOOK_CELLS

ENDS = {"": b"\n", ", CRLF": b"\r\n", ", no last end": b"\n"}


def _lines(
    rows: Rows, field: Callable[[str, bytes], bytes], join: Callable[[list[bytes]], bytes]
) -> Iterator[bytes]:
    for row in rows.rows:
        if line := next((cell for cell in row if isinstance(cell, Line)), None):
            yield line.text
            continue
        cells = zip(ROLES, row, strict=True)
        yield join([cell if role == rows.role else field(role, cell.encode()) for role, cell in cells])


def _written(lines: list[bytes], path: Path, layout: str) -> None:
    end = ENDS[layout.removeprefix("plain").removeprefix("gz")]
    text = end.join(lines) + (b"" if "no last" in layout else end)
    path.write_bytes(gzip.compress(text, 1) if layout.startswith("gz") else text)


def _types(rows: Rows, **more: str) -> dict[str, Any]:
    return {"types": {**dict.fromkeys(ROLES, "text"), rows.role: rows.kind.typed, **more}}


def _csv(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path = workshop.path(".csv.gz" if layout.startswith("gz") else ".csv")
    body = _lines(rows, lambda _, cell: cell, b",".join)
    _written([",".join(ROLES).encode(), *body], path, layout)
    return path, _types(rows)


def _csv_by_line(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path, _ = _csv(rows, layout, workshop)
    return path, _types(rows, **{"*": "line"})


def _json_lines(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    def joined(cells: list[bytes]) -> bytes:
        named = zip(ROLES, cells, strict=True)
        return b"{" + b", ".join(b'"%s": %s' % (role.encode(), cell) for role, cell in named) + b"}"

    path = workshop.path(".jsonl.gz" if layout.startswith("gz") else ".jsonl")
    _written(list(_lines(rows, lambda _, cell: b'"' + cell + b'"', joined)), path, layout)
    return path, _types(rows)


def _recoded(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    """The same fields in another encoding; what is no UTF-8 becomes what is no text there either."""
    path, how = _csv(rows, "plain", workshop)
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    if layout.startswith("utf-16"):
        path.write_bytes(text.encode(layout, "surrogatepass"))
    else:
        path.write_bytes(b"\x81".join(re.sub("[\udc80-\udcff]+", "\0\0\0", text).encode(layout).split(b"\0\0\0")))
    return path, {**how, "encoding": layout}


_SWAPPED = str.maketrans(",;\"'", ";,'\"")


def _semicolons(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    """The same with commas and semicolons exchanged, and both kinds of quotes; and with no header."""
    path, how = _csv(rows, "plain", workshop)
    _, _, body = path.read_bytes().partition(b"\n")
    path.write_bytes(body.decode("latin-1").translate(_SWAPPED).encode("latin-1"))
    return path, {**how, "sep": ";", "quote": "'", "header": list(ROLES)}


def _swapped() -> dict[str, Kind]:
    def leaves(cell: Cell) -> Any:
        return cell.leaves.translate(_SWAPPED) if isinstance(cell.leaves, str) else cell.leaves

    kinds = csv_kinds()
    text = kinds["text"]
    return {
        **kinds,
        "text": replace(text, hostile=tuple(replace(cell, leaves=leaves(cell)) for cell in text.hostile)),
    }


def _json_array(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path, how = _json_lines(rows, "plain", workshop)
    lines = path.read_bytes().splitlines()
    array = path.with_suffix(".json")
    workshop.later.callback(array.unlink, missing_ok=True)
    text = {"lines": b"[\n" + b",\n".join(lines) + b"\n]", "line": b"[" + b",\n".join(lines) + b"]\n"}[layout]
    array.write_bytes(text)
    return array, how


def _workbook(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(ROLES)
    for row in rows.rows:
        sheet.append([cell.decode() if isinstance(cell, bytes) else cell for cell in row])
    path = workshop.path(".xlsx")
    book.save(path)
    return path, _types(rows)


def _folders(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    """The hostile column is in the names of folders, as far as a name can say it."""
    root = workshop.path("-folders")
    at = ROLES.index(rows.role)
    inside = [role for role in ROLES if role != rows.role]
    for number, row in enumerate(rows.rows):
        folder = root / f"{rows.role}={quote(row[at], safe='')}"
        folder.mkdir(parents=True, exist_ok=True)
        others = ",".join(cell for place, cell in enumerate(row) if place != at)
        (folder / f"{number}.csv").write_text(f"{','.join(inside)}\n{others}\n")
    return root, _types(rows)


BREAK_AN_ARRAY = {"an open object", "a deep line", "deep lists, never closed", "two on a line"}
"""Elements whose brackets do not match: where the next one begins, nobody can say. In a file of lines one can."""


def _of_an_array() -> dict[str, Kind]:
    kinds = json_kinds()
    del kinds["long lines"]
    text = kinds["text"]
    whole = tuple(cell for cell in text.hostile if cell.name not in BREAK_AN_ARRAY)
    return {**kinds, "text": replace(text, hostile=whole)}


def _unquoted() -> dict[str, Kind]:
    """Kinds of columns in which a text needs no quotes, and a row is no line."""
    texts = [Cell(name, text.encode(), text if text else Leaves.UNSAID) for name, text in TEXTS.items()]
    texts += [Cell(name, raw, Leaves.NOTHING) for name, raw in UNDECODABLE.items()]
    return {**csv_kinds(), "text": replace(csv_kinds()["text"], hostile=tuple(texts))}


_LAYOUTS = tuple(f"{file}{end}" for file in ("plain", "gz") for end in ENDS)

TEXT_FILES = {
    source.name: source
    for source in (
        Source("csv", csv_kinds(), _LAYOUTS, _csv),
        Source("csv by line", csv_kinds(by_line=True), _LAYOUTS, _csv_by_line),
        Source("json lines", json_kinds(), _LAYOUTS, _json_lines),
        Source("json array", _of_an_array(), ("lines", "line"), _json_array),
        Source("csv, recoded", csv_kinds(), ("utf-16", "utf-16-be", "cp1252"), _recoded),
        Source("csv, semicolons", _swapped(), ("plain",), _semicolons),
        Source("workbook", _unquoted(), ("xlsx",), _workbook),
        Source("folders", _unquoted(), ("csv",), _folders),
    )
} | WORKBOOK_CELLS
