"""`ul.check` and `unlisted check`: what would be left out, why, and on which line, of messy files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.shell import unlisted

import unlisted as ul
from unlisted.tables.checking import OWNERS_EYES

GOOD = [f"{user};Käse;01.02.2025;1,5" for user in range(50)]
BAD = ["0;Brot;31.02.2025;x", "1;Brot;31.02.2025;2", ";Brot;01.02.2025;1", "7;;01.02.2025;1", "8;a;b;c;d;e"]
HOW = {"sep": ";", "encoding": "latin-1", "types": {"Datum": "date", "Menge": "decimal"}}


@pytest.fixture
def messy(tmp_path: Path) -> Path:
    path = tmp_path / "messy.csv"
    path.write_bytes("\n".join(["Kunde;Produkt;Datum;Menge", *GOOD, *BAD]).encode("latin-1"))
    return path


def test_it_says_what_is_left_out_why_and_on_which_lines(messy: Path) -> None:
    found = ul.check(
        messy, user="Kunde", item="Produkt", items_per_user=1, date_format="%d.%m.%Y", decimal=",", **HOW
    )
    assert found.rows == 54
    assert found.left_out == {
        "Kunde: empty, or not to be read": 1,
        "Produkt: empty, or not to be read": 1,
        "Datum: no date": 2,
        "Menge: no decimal": 1,
        "more fields than the header": 1,
    }
    assert found.lines["Datum: no date"] == ["line 52", "line 53"]
    assert found.lines["Menge: no decimal"] == ["line 52"]
    assert found.lines["more fields than the header"] == ["line 56"]
    assert found.users is not None
    assert (found.users.users, found.users.pairs, found.users.most) == (50, 52, 2)
    assert (found.users.over, found.users.cut) == (2, 2)


def test_two_accents_that_are_no_utf_8_are_found(messy: Path) -> None:
    found = ul.check(messy, user="Kunde", item="Produkt", sep=";")
    assert found.left_out["Produkt: no UTF-8"] == 50
    assert found.lines["Produkt: no UTF-8"][:2] == ["line 2", "line 3"]
    assert "say its encoding: latin-1" in repr(found)


def test_the_rows_that_it_counts_are_those_that_a_question_counts(messy: Path) -> None:
    """With an ε so large that noise is gone, a release has what the check says that it would."""
    found = ul.check(messy, user="Kunde", item="Produkt", items_per_user=2, sep=";", encoding="latin-1")
    table = ul.table(messy, user="Kunde", sep=";", encoding="latin-1")
    release = table.histogram("Produkt", epsilon=200, items_per_user=2).run()
    assert found.users is not None
    assert sum(row["count"] for row in release) == pytest.approx(found.users.pairs, abs=5)


def test_lines_are_counted_where_fields_hold_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "breaks.csv"
    path.write_text('user,age\n1,"two\nlines"\n2,old\n3,7\n')
    found = ul.check(path, user="user", item="age", types={"age": "int"})
    assert found.lines["age: no int"] == ["line 2", "line 4"]


def test_frames_have_no_lines_and_are_checked_too() -> None:
    rows = pa.table(
        {"user": [1, 1, None, 2], "dish": ["soup", "bread", "soup", None], "parts": [[1], [2], [3], [4]]}
    )
    found = ul.check(rows, user="user", item="dish", items_per_user=1)
    assert found.rows == 4
    assert found.filled == {"user": 3, "dish": 3}
    assert found.users is not None
    assert (found.users.users, found.users.over, found.users.cut) == (1, 1, 1)
    assert "parts  other      not looked into" in repr(found)
    assert ul.check(rows).users is None


def test_the_first_line_says_whose_eyes_it_is_for_and_nothing_is_written(messy: Path) -> None:
    before = sorted(messy.parent.iterdir())
    done = unlisted("check", messy, "--user", "Kunde", "--item", "Produkt", "--sep", ";", "--encoding", "latin-1")
    assert done.code == 0
    assert done.text.splitlines()[0] == OWNERS_EYES
    assert "a bound of 10 would cut 0 of their items" in done.text
    assert sorted(messy.parent.iterdir()) == before


def test_columns_come_from_the_schema_alone(messy: Path, tmp_path: Path) -> None:
    done = unlisted("columns", messy, "--sep", ";", "--types", "Datum=date")
    assert done.text.splitlines() == ["Kunde    text", "Produkt  text", "Datum    date", "Menge    text"]
    hinted = unlisted("columns", messy)
    assert "say sep=';' or --sep ';'" in hinted.said
    (tmp_path / "hostile.csv").write_text("user,\x1b[31mred\n1,2\n")
    assert "\x1b" not in unlisted("columns", tmp_path / "hostile.csv").text


def test_what_is_not_there_is_refused(messy: Path) -> None:
    with pytest.raises(ul.InvalidArgumentError, match="user is missing"):
        ul.check(messy, item="Produkt", sep=";")
    with pytest.raises(ul.InvalidArgumentError, match="a column of the source"):
        ul.check(messy, user="Kund", sep=";")
    assert unlisted("check", messy.parent / "gone.csv").code == 2
