"""CSV and JSON lines files with hostile fields and lines, plain and compressed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.cells import Line
from tests.hostile.rows import ROLES, Rows
from tests.hostile.sources import Source, Workshop
from tests.hostile.text_cells import csv_kinds, json_kinds

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


_LAYOUTS = tuple(f"{file}{end}" for file in ("plain", "gz") for end in ENDS)

TEXT_FILES = {
    source.name: source
    for source in (
        Source("csv", csv_kinds(), _LAYOUTS, _csv),
        Source("csv by line", csv_kinds(by_line=True), _LAYOUTS, _csv_by_line),
        Source("json lines", json_kinds(), _LAYOUTS, _json_lines),
    )
}
