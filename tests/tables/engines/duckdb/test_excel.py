"""Workbooks: one sheet, cells as the texts that say them, and what is refused."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.tables.fixtures.asked import all_counts, question
from tests.tables.fixtures.engines import installed

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.privacy.guarantee import Budget
from unlisted.query.private_table import PrivateTable
from unlisted.tables.engines.duckdb.excel import said
from unlisted.tables.engines.duckdb.xlsx import Workbook, format_of
from unlisted.tables.table import table

ROWS: list[list[Any]] = [
    ["Kunde", "Produkt", "Datum", "Preis"],
    [1, "Käse", datetime.date(2025, 11, 30), 1.5],
    [2, "Käse", datetime.datetime(2025, 11, 30), 2],
    [3.0, "=1+", "30.11.2025", "zwei"],
    [None, "Tee", None, None],
    ["3", "Tee", "morgen", True],
]


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    book = installed("openpyxl").Workbook()
    book.active.title = "Verkauf"
    for row in ROWS:
        book.active.append([cell if cell != "=1+" else "'=1+" for cell in row])
    book.create_sheet("Leer")
    book.save(tmp_path / "shop.xlsx")
    return tmp_path / "shop.xlsx"


def test_the_first_sheet_is_a_table_of_texts(workbook: Path) -> None:
    source = table(workbook, user="Kunde")
    assert {name: kind.value for name, kind in source.columns().items()} == dict.fromkeys(ROWS[0], "text")
    assert all_counts(source, question("Produkt")) == {("Käse",): 2, ("'=1+",): 1, ("Tee",): 1}
    assert all_counts(source, question("Preis")) == {("1.5",): 1, ("2",): 1, ("zwei",): 1, ("true",): 1}


def test_columns_are_declared_as_in_a_text_file(workbook: Path) -> None:
    source = table(workbook, user="Kunde", types={"Preis": "float", "Datum": "date", "Kunde": "int"})
    assert all_counts(source, question("Preis")) == {(1.5,): 1, (2.0,): 1}
    assert all_counts(source, question("Datum")) == {(datetime.date(2025, 11, 30),): 2}
    source = table(workbook, user="Kunde", types={"Datum": "date"}, date_format="%d.%m.%Y")
    assert all_counts(source, question("Datum")) == {(datetime.date(2025, 11, 30),): 3}


def test_a_sheet_is_named_as_a_table(workbook: Path) -> None:
    assert list(table(workbook, user="Kunde", table="Verkauf").columns()) == ROWS[0]
    with pytest.raises(InvalidArgumentError, match=re.escape("The sheets are: Verkauf, Leer.")):
        table(workbook, user="Kunde", table="Einkauf").columns()
    with pytest.raises(InvalidArgumentError, match="must name the columns"):
        table(workbook, user="Kunde", table="Leer").columns()


def test_a_sheet_without_a_header_is_given_one(workbook: Path) -> None:
    source = table(workbook, user="who", header=["who", "what"])
    assert all_counts(source, question("what", where="what = 'Tee' OR what = 'Produkt'")) == {
        ("Tee",): 1,
        ("Produkt",): 1,
    }


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.xlsx").write_bytes(b"the private words of a row")
    with pytest.raises(InvalidArgumentError, match="no workbook") as refused:
        table(tmp_path / "rows.xlsx", user="user").columns()
    assert "private" not in str(refused.value)


@pytest.mark.parametrize("ending", [".xls", ".xlsb", ".ods"])
def test_a_workbook_that_only_whole_sheets_are_read_of_is_refused(workbook: Path, ending: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape("save it as .xlsx")):
        table(workbook.rename(workbook.with_suffix(ending)), user="Kunde")


@pytest.mark.parametrize(
    ("cell", "text"),
    [(1.0, "1"), (-0.0, "0"), (1e300, "1e+300"), (True, "true"), ("", None), ("\ud800", None), ("1.0", "1.0")],
)
def test_a_cell_is_the_text_that_says_it(cell: object, text: str | None) -> None:
    assert said(cell) == text


DAYS = (45000, 45000.25, 45000.123456789, 61, 60, 59, 1, 0.25, 2958465, 2958466)
CODES = ("General", "[Red]0", "mmm-yy", "0.0E+00", '"d"0', "\\d0", "0;d", "[$-407]d. mmm", "h AM/PM")
PLAIN = (True, False, 0.1, 1e20, -0.0, "tea", "_x0041_b", "#N/A", " a ", "Käse")
FORMATTED: list[tuple[Any, str]] = [
    *((number, "yyyy-mm-dd") for number in DAYS),
    *((number, "[h]:mm:ss") for number in (0, 1.5, -2.25, 100.25, 1e6)),
    *((5, code) for code in CODES),
    *((value, "General") for value in PLAIN),
    (datetime.timedelta(days=1, hours=2), "[h]:mm"),
    (datetime.time(10, 30), "h:mm"),
    (datetime.datetime(2025, 1, 1, 1, 2, 3), "yyyy-mm-dd hh:mm:ss"),
]


def test_cells_are_what_another_reader_says_they_are(tmp_path: Path) -> None:
    calamine = installed("python_calamine")
    book = installed("openpyxl").Workbook()
    for at, (value, code) in enumerate(FORMATTED, 3):
        cell = book.active.cell(at, 2, value)
        cell.number_format = code
    book.save(tmp_path / "all.xlsx")
    theirs = calamine.load_workbook(tmp_path / "all.xlsx").get_sheet_by_index(0).to_python(skip_empty_area=False)
    ours = list(Workbook.opened(str(tmp_path / "all.xlsx")).rows("Sheet"))
    assert [said(row.get(1)) for row in ours[-len(FORMATTED) :]] == [said(row[1]) for row in theirs[2:]]


def _with_cell(path: Path, cell: str | bytes, rows: int = 20) -> Path:
    """Write a workbook in which somebody's last cell is what somebody wrote."""
    book = installed("openpyxl").Workbook()
    book.active.append(["user", "item", "when"])
    for number in range(rows):
        book.active.append([f"u{number}", "tea", number])
    book.active.append(["villain", "coffee", 4711])
    book.save(path)
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    raw = cell.encode() if isinstance(cell, str) else cell
    parts[sheet], found = re.subn(rb"<c [^>]*><v>4711</v></c>", lambda _: raw, parts[sheet])
    assert found == 1
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    return path


HOSTILE: dict[str, str | bytes] = {
    "a character that XML does not allow": '<c r="C22" t="str"><v>\uffff\x01</v></c>',
    "no UTF-8": b'<c r="C22" t="str"><v>caf\xe9</v></c>',
    "a part of a character": b'<c r="C22" t="str"><v>\xf0\x9f</v></c>',
    "an error that nobody knows": '<c r="C22" t="e"><v>#WHAT!</v></c>',
    "a text that is not there": '<c r="C22" t="s"><v>99999</v></c>',
    "a text of no number": '<c r="C22" t="s"><v>abc</v></c>',
    "a text of a negative number": '<c r="C22" t="s"><v>-1</v></c>',
    "no number": '<c r="C22"><v>abc</v></c>',
    "a number without end": f'<c r="C22"><v>{"9" * 10_000}</v></c>',
    "an infinite number": '<c r="C22"><v>1e999</v></c>',
    "NaN": '<c r="C22"><v>nan</v></c>',
    "no truth": '<c r="C22" t="b"><v>2</v></c>',
    "no date": '<c r="C22" t="d"><v>2025-13-45</v></c>',
    "a kind that nobody knows": '<c r="C22" t="what"><v>1</v></c>',
    "a style that is not there": '<c r="C22" s="99999"><v>1</v></c>',
    "half a character": '<c r="C22" t="str"><v>_xD800_</v></c>',
    "a cell that is nowhere": '<c r="ZZZZZZZ9"><v>1</v></c>',
    "a cell of row 0": '<c r="C0"><v>1</v></c>',
    "the last cell of all": '<c r="XFD1048576"><v>1</v></c>',
    "a cell beyond the last": '<c r="ZZZ99999999"><v>1</v></c>',
    "other elements": '<c r="C22"><v>1<a><b/></a></v></c>',
    "nothing": '<c r="C22"/>',
}


@pytest.mark.parametrize("cell", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("types", [{}, {"when": "timestamp"}, {"when": "float"}], ids=str)
def test_no_cell_decides_whether_a_question_is_answered(
    tmp_path: Path, cell: str | bytes, types: dict[str, str]
) -> None:
    source = table(_with_cell(tmp_path / "rows.xlsx", cell), user="user", types=types)
    assert list(source.columns()) == ["user", "item", "when"]
    assert all_counts(source, question("item")) == {("tea",): 20, ("coffee",): 1}
    counts = all_counts(source, question("when"))
    assert sum(counts.values()) <= 21
    if types != {"when": "timestamp"}:
        assert sum(counts.values()) >= 20


@pytest.mark.parametrize("number", ["1e300", "-1e300", "1e15", "-1", "2958465.9999999999"])
@pytest.mark.parametrize("code", ["yyyy-mm-dd", "[h]:mm:ss"])
def test_numbers_outside_the_calendar_are_numbers(tmp_path: Path, number: str, code: str) -> None:
    book = installed("openpyxl").Workbook()
    for value in ("when", 1, float(number)):
        book.active.append([value])
    book.active.cell(3, 1).number_format = code
    book.save(tmp_path / "rows.xlsx")
    rows = list(Workbook.opened(str(tmp_path / "rows.xlsx")).rows("Sheet"))
    assert len(rows) == 3
    assert said(rows[2][0]) is not None


def test_the_header_is_read_without_a_row(tmp_path: Path) -> None:
    """What is broken after it makes a question fail, and counts as a failure; it is not told for nothing."""
    path = _with_cell(tmp_path / "rows.xlsx", '<c r="C22"><v>&nobody;</v></c>')
    source = table(path, user="user")
    assert list(source.columns()) == ["user", "item", "when"]
    with pytest.raises(ChargedFailureError):
        PrivateTable(source).histogram("item", budget=Budget(epsilon=1, delta="1e-6"), items_per_user=1).run()


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:200],
        lambda whole: whole.replace(b"xl/workbook.xml", b"xl/workb00k.xml"),
        lambda _: b"",
    ],
)
def test_a_damaged_workbook_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = _with_cell(tmp_path / "rows.xlsx", "")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidArgumentError, match="damaged"):
        table(path, user="user").columns()


def test_a_sheet_declares_no_entities(tmp_path: Path) -> None:
    path = _with_cell(tmp_path / "rows.xlsx", "")
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = b'<!DOCTYPE a [<!ENTITY b "c">]>' + parts[sheet].partition(b"?>")[2]
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    with pytest.raises(InvalidArgumentError, match="damaged"):
        table(path, user="user").columns()


def test_formats_that_are_dates() -> None:
    numbers = ("0", "14", "22", "46", "47", "", "x")
    found = [format_of(number, {}) for number in numbers]
    assert found == ["", "date", "date", "duration", "date", "", ""]
    assert format_of("164", {"164": "[mm]:ss"}) == "duration"
