"""Workbooks: one sheet, cells as the texts that say them, and what is said when the extra is missing."""

from __future__ import annotations

import builtins
import datetime
import re
from pathlib import Path
from typing import Any

import pytest
from tests.tables.fixtures.asked import all_counts, question
from tests.tables.fixtures.engines import installed

from unlisted.errors import InvalidArgumentError, MissingExtraError
from unlisted.tables.engines.duckdb.excel import said
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
    installed("python_calamine")
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
    installed("python_calamine")
    (tmp_path / "rows.xlsx").write_bytes(b"the private words of a row")
    with pytest.raises(InvalidArgumentError, match="no workbook") as refused:
        table(tmp_path / "rows.xlsx", user="user").columns()
    assert "private" not in str(refused.value)


def test_without_the_extra_the_way_to_install_it_is_told(workbook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **keywords: Any) -> Any:
        if name == "python_calamine":
            raise ImportError
        return real(name, *args, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "unlisted[excel]"')):
        table(workbook, user="Kunde").columns()


@pytest.mark.parametrize(
    ("cell", "text"),
    [(1.0, "1"), (-0.0, "0"), (1e300, "1e+300"), (True, "true"), ("", None), ("\ud800", None), ("1.0", "1.0")],
)
def test_a_cell_is_the_text_that_says_it(cell: object, text: str | None) -> None:
    assert said(cell) == text
