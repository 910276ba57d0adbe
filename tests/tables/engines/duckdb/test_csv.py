"""CSV as people have it: other separators, quotes, decimals, dates and encodings, read right when said."""

from __future__ import annotations

import datetime
import gzip
import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import InvalidArgumentError
from unlisted.tables.engines.duckdb import text
from unlisted.tables.engines.duckdb.text import in_utf_8
from unlisted.tables.table import table

SALES = (
    "Kunden Nr;Produkt;Datum;Preis\n1;Käse;31.12.2024;1,5\n2;Käse;1.2.2025;2,25\n3;Tee €;morgen;3\n4;Tee €;;1.5\n"
)
CHEESE, TEA = ("Käse",), ("Tee €",)
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "windows-1252", "iso-8859-15"]


def sales(path: Path, encoding: str = "utf-8", said: str | None = None, item: str = "Produkt", **how: Any) -> Any:
    """Count a column of the sales, as somebody in Germany may have written them down."""
    content = SALES.encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    how |= {} if said is None else {"encoding": said}
    return all_counts(table(path, user="Kunden Nr", sep=";", **how), question(item, where=how.pop("where", None)))


@pytest.mark.parametrize("name", ["sales.csv", "sales.txt", "sales.csv.gz"])
@pytest.mark.parametrize("by_line", [False, True], ids=["csv", "by line"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_is_read_right_when_it_is_said(
    tmp_path: Path, encoding: str, by_line: bool, name: str
) -> None:
    types = {"*": "line"} if by_line else {}
    assert sales(tmp_path / name, encoding, encoding, types=types) == {CHEESE: 2, TEA: 2}


def test_a_byte_that_is_no_character_costs_its_own_row(tmp_path: Path) -> None:
    """0x81 is nothing in Windows-1252; a lone surrogate is nothing in UTF-16."""
    rows = b"user,item\n1,a\n2,\x81\n3,\xe9\n4,a\n"
    (tmp_path / "rows.csv").write_bytes(rows)
    found = all_counts(table(tmp_path / "rows.csv", user="user", encoding="windows-1252"), question("item"))
    assert found == {("a",): 2, ("é",): 1}
    wide = (
        b"".join(bytes([byte, 0]) for byte in b"user,item\n1,a\n2,")
        + b"\x00\xd8\n\0"
        + "3,a\n".encode("utf-16-le")
    )
    (tmp_path / "rows.csv").write_bytes(wide)
    found = all_counts(table(tmp_path / "rows.csv", user="user", encoding="utf-16-le"), question("item"))
    assert found == {("a",): 2}


@settings(max_examples=30, deadline=None, suppress_health_check=(HealthCheck.function_scoped_fixture,))
@given(
    st.text(max_size=20), st.sampled_from(["utf-16", "utf-16-be", "cp1252", "iso8859-1"]), st.binary(max_size=4)
)
def test_a_copy_in_utf_8_is_what_python_reads(tmp_path: Path, words: str, encoding: str, broken: bytes) -> None:
    """In pieces of any size. What is no text stays none."""
    content = words.encode(encoding, "ignore") + broken
    path, folder = tmp_path / "rows.csv", tmp_path / f"folder-{len(list(tmp_path.iterdir()))}"
    path.write_bytes(content)
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text, "_PIECE", 3)
        copied = Path(in_utf_8(str(path), folder, encoding)).read_bytes()
    try:
        assert copied == content.decode(encoding).encode()
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            copied.decode()


@pytest.mark.parametrize(
    ("content", "keywords", "hint"),
    [
        (SALES.encode(), {}, "no comma in it, but a semicolon: say sep=';' or --sep ';'"),
        (SALES.replace(";", "\t").encode(), {}, "but a tab: say sep='tab'"),
        (SALES.replace(";", ",").encode(), {"sep": "tab"}, "no tab in it, but a comma: say sep=','"),
        (SALES.encode("utf-16"), {"sep": ";"}, "It begins as UTF-16 does: say encoding='utf-16'"),
        ("Straße;Nr\n".encode("latin-1"), {"sep": ";"}, "say its encoding: encoding='latin-1'"),
    ],
)
def test_a_header_in_another_dialect_gets_the_hint(
    tmp_path: Path, content: bytes, keywords: dict[str, Any], hint: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidArgumentError) as refused:
        table(path, user="Kunden Nr", **keywords).columns()
    assert hint in str(refused.value)
    assert "Produkt" not in str(refused.value), "the first line of a file without a header is somebody's row"


def test_a_header_that_looks_fine_gets_no_hint(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("who,what\n1,a\n")
    with pytest.raises(InvalidArgumentError) as refused:
        table(tmp_path / "rows.csv", user="user").columns()
    assert "sep" not in str(refused.value)


def test_decimals_and_dates_are_read_as_they_are_said_to_be_written(tmp_path: Path) -> None:
    path, types = tmp_path / "sales.csv", {"Preis": "float", "Datum": "date"}
    prices = sales(path, item="Preis", types=types, decimal=",")
    assert prices == {(1.5,): 1, (2.25,): 1, (3.0,): 1}, "1.5 is written with a point"
    days = sales(path, item="Datum", types=types, date_format="%d.%m.%Y")
    assert days == {(datetime.date(2024, 12, 31),): 1, (datetime.date(2025, 2, 1),): 1}
    assert days == sales(path, item="Datum", types=types, date_format={"Datum": "%d.%m.%Y"})
    assert sales(path, item="Datum", types=types) == {}, "a type that none of the rows holds is no error"
    with pytest.raises(InvalidArgumentError, match="date_format = 'Tag'"):
        sales(path, date_format={"Tag": "%d"})


def test_timestamps_take_a_format_too(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("user,at\n1,01/02/24 13:05\n2,01/02/24 25:00\n3,32/02/24 01:00\n")
    source = table(tmp_path / "rows.csv", user="user", types={"at": "timestamp"}, date_format="%d/%m/%y %H:%M")
    assert all_counts(source, question("at")) == {(datetime.datetime(2024, 2, 1, 13, 5),): 1}


@pytest.mark.parametrize("by_line", [False, True], ids=["csv", "by line"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["", "BOM"])
def test_a_file_without_a_header_is_given_one(tmp_path: Path, by_line: bool, bom: bytes) -> None:
    (tmp_path / "rows.txt").write_bytes(bom + b"1|'a|b'|x\n2|c\n3|c|x|y\n")
    source = table(
        tmp_path / "rows.txt",
        user="user",
        header=["user", "item", "more"],
        sep="|",
        quote="'",
        types={"user": "int"} | ({"*": "line"} if by_line else {}),
    )
    assert list(source.columns()) == ["user", "item", "more"]
    assert all_counts(source, question("item")) == {("a|b",): 1, ("c",): 1}
    with pytest.raises(InvalidArgumentError, match="The columns are: user, item, more"):
        table(tmp_path / "rows.txt", user="users", header=["user", "item", "more"], sep="|").columns()


@pytest.mark.parametrize("by_line", [False, True], ids=["csv", "by line"])
@pytest.mark.parametrize(("sep", "quote"), list(itertools.product(";\t|^.*$ ¦", ["", "'", "^", "]", '"'])))
def test_any_sign_may_separate_and_quote(tmp_path: Path, sep: str, quote: str, by_line: bool) -> None:
    if sep == quote:
        return
    quoted = f"{quote}a{sep}b{quote * 2}{quote}" if quote else "a'b"
    (tmp_path / "rows.csv").write_text(f"user{sep}item\n1{sep}{quoted}\n2{sep}x\n")
    types = {"*": "line"} if by_line else {}
    source = table(tmp_path / "rows.csv", user="user", sep=sep, quote=quote, types=types)
    assert all_counts(source, question("item")) == {((f"a{sep}b{quote}" if quote else "a'b"),): 1, ("x",): 1}


def test_bytes_that_nobody_reads_drop_no_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_bytes(b"user,item,note\n1,a,caf\xe9\n2,a,tea\n")
    source = table(tmp_path / "rows.csv", user="user")
    assert all_counts(source, question("item")) == {("a",): 2}
    assert all_counts(source, question("note")) == {("tea",): 1}
