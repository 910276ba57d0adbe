"""Hostile cells of workbooks, as XML: what a program that writes them could put there, and what none should.

A cell is the XML of a whole cell, in which `@` stands for its place.
"""

from __future__ import annotations

import zipfile
from typing import Any
from xml.sax.saxutils import escape

from tests.hostile.cells import Cell, Kind, Leaves
from tests.hostile.rows import ROLES, Rows
from tests.hostile.sources import Source, Workshop

NOTHING, UNSAID = Leaves.NOTHING, Leaves.UNSAID
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def _number(text: str, style: int = 0) -> bytes:
    return f'<c r="@" s="{style}"><v>{text}</v></c>'.encode()


def _text(text: bytes) -> bytes:
    return b'<c r="@" t="inlineStr"><is><t xml:space="preserve">' + text + b"</t></is></c>"


ODD = {
    "nothing at all": b'<c r="@"/>',
    "an error": b'<c r="@" t="e"><v>#N/A</v></c>',
    "an error that nobody knows": b'<c r="@" t="e"><v>#WHAT!</v></c>',
    "a text that is not there": b'<c r="@" t="s"><v>99999</v></c>',
    "a text of no number": b'<c r="@" t="s"><v>abc</v></c>',
    "a kind that nobody knows": b'<c r="@" t="what"><v>1</v></c>',
    "no number": _number("abc"),
    "no text": _text(b"caf\xe9"),
    "half a character": _text(b"_xD800_"),
    "NaN": _number("NaN"),
    "1e999": _number("1e999"),
    "ten thousand digits": _number("9" * 10_000),
    "the last cell of all": b'<c r="XFD1048576"><v>1</v></c>',
    "a cell beyond the last": b'<c r="ZZZ9999999"><v>1</v></c>',
}
"""Cells that are nothing, whatever their column is declared to hold."""

STRANGE = {
    "a style that is not there": _number("3", 99_999),
    "a truth": b'<c r="@" t="b"><v>1</v></c>',
    "a moment as text": b'<c r="@" t="d"><v>2020-02-30T25:61</v></c>',
    "far in the future": _number("1e300", 1),
    "far in the past": _number("-1e300", 1),
    "the day after the last": _number("2958466", 1),
    "the 29 February 1900": _number("60", 1),
    "a moment before the first": _number("-0.5", 1),
    "a very long time": _number("1e300", 2),
    "a long time ago": _number("-1e15", 2),
    "runs and readings": b'<c r="@" t="inlineStr"><is><r><t>zz</t></r><rPh><t>ZZ</t></rPh></is></c>',
    "a control character": _text(b"zz\x01"),
    "no character": _text("zz\uffff".encode()),
    "another element": b'<c r="@"><v>3<what/></v></c>',
    "twice the same": _number("3") + _number("4"),
    "no place": b"<c><v>3</v></c>",
    "ten megabytes": _text(b"h" * 10_000_000),
}
"""Cells that are something, and may be one label of one user."""

_CELLS = (
    *(Cell(name, raw, NOTHING) for name, raw in ODD.items()),
    *(Cell(name, raw, UNSAID, too_long=name == "ten megabytes") for name, raw in STRANGE.items()),
)
KINDS = {
    kind.name: kind
    for kind in (
        Kind("text", "text", "text", tuple(map(_text, (b"a", b"b", b"c", b"d", b"ab", b"bc", b"cd"))), _CELLS),
        Kind("float", "number", "float", tuple(_number(f"{n}.25") for n in range(1, 8)), _CELLS),
        Kind(
            "timestamp", "timestamp", "timestamp", tuple(_number(f"{43831 + 31 * n}", 1) for n in range(7)), _CELLS
        ),
    )
}

PARTS = {
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="a" Type="{_OFFICE}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="rows" sheetId="1" '
    'r:id="s"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}"><Relationship Id="s" '
    f'Type="{_OFFICE}/worksheet" Target="sheet.xml"/><Relationship Id="t" Type="{_OFFICE}/styles" '
    'Target="styles.xml"/></Relationships>',
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/>'
    '<xf numFmtId="46"/></cellXfs></styleSheet>',
}
"""All of a workbook but its sheet."""


def _workbook(rows: Rows, layout: str, workshop: Workshop) -> tuple[Any, dict[str, Any]]:
    path = workshop.path(".xlsx")
    lines = [_row(1, [_text(role.encode()) for role in ROLES])]
    for number, row in enumerate(rows.rows, 2):
        lines.append(_row(number, [one if isinstance(one, bytes) else _text(escape(one).encode()) for one in row]))
    sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>'.encode() + b"".join(lines) + b"</sheetData></worksheet>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, text in PARTS.items():
            file.writestr(name, text)
        file.writestr("xl/sheet.xml", sheet)
    return path, {"types": {**dict.fromkeys(ROLES, "text"), rows.role: rows.kind.typed}}


def _row(number: int, cells: list[bytes]) -> bytes:
    placed = [
        cell.replace(b'"@"', b'"%s%d"' % (letter, number))
        for letter, cell in zip((b"A", b"B", b"C", b"D"), cells, strict=True)
    ]
    return b'<row r="%d">' % number + b"".join(placed) + b"</row>"


WORKBOOK_CELLS = {"workbook cells": Source("workbook cells", KINDS, ("xlsx",), _workbook)}
