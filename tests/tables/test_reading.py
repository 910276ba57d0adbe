"""How a source is read, as far as its owner says it: each option is checked before anything is opened."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import unlisted as ul
from unlisted.cli.options import ReadingOptions
from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.reading import HELP, Reading


@pytest.mark.parametrize(
    ("option", "value", "read"),
    [
        ("sep", ";", ";"),
        ("sep", r"\t", "\t"),
        ("sep", "tab", "\t"),
        ("encoding", "UTF8", "utf-8"),
        ("encoding", "utf-8-sig", "utf-8"),
        ("encoding", "UTF-16LE", "utf-16-le"),
        ("encoding", "windows-1252", "cp1252"),
        ("encoding", "latin-1", "iso8859-1"),
        ("encoding", "koi8-r", "koi8-r"),
        ("quote", "'", "'"),
        ("quote", "none", ""),
        ("decimal", ",", ","),
        ("decimal", "comma", ","),
        ("header", "Kunde, Produkt", ("Kunde", "Produkt")),
        ("header", '"a, b",c', ("a, b", "c")),
        ("header", ["a", "b"], ("a", "b")),
        ("date_format", "%d.%m.%Y", {"*": "%d.%m.%Y"}),
        ("date_format", {"day": "%-d/%-m/%y", "at": "%H:%M"}, {"day": "%-d/%-m/%y", "at": "%H:%M"}),
        ("timezone", "Europe/Berlin", "Europe/Berlin"),
    ],
)
def test_an_option_is_read(option: str, value: Any, read: Any) -> None:
    assert getattr(Reading.read(**{option: value}), option) == read


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [
        ("sep", "", "one character"),
        ("sep", "||", "one character"),
        ("sep", "\n", "one character"),
        ("sep", "a", "one character"),
        ("encoding", "klingon", "latin-1 or windows-1252"),
        ("encoding", "shift_jis", "Convert the file to UTF-8 first"),
        ("encoding", "utf-7", "Convert the file to UTF-8 first"),
        ("encoding", "cp037", "Convert the file to UTF-8 first"),
        ("encoding", 8, "such as utf-8"),
        ("quote", "ab", "one character"),
        ("decimal", "'", "'.' or ','"),
        ("header", False, 'header=["user", "item"]'),
        ("header", [], "the names of all columns"),
        ("header", ["a", ""], "the names of all columns"),
        ("header", ["a", "A"], "different names"),
        ("date_format", "dd.mm.yyyy", "%d.%m.%Y"),
        ("date_format", "%d.%m.%Y %z", "%d.%m.%Y"),
        ("date_format", {"day": 3}, "%d.%m.%Y"),
        ("timezone", "Berlin", "Europe/Berlin"),
        ("timezone", "../../etc/passwd", "Europe/Berlin"),
        ("timezone", "x'); DROP TABLE t; --", "Europe/Berlin"),
        ("types", ["age=int"], '{"age": "int"}'),
        ("types", {"age": "integer"}, "one of text, int"),
        ("types", {"age": "timestamp with a time zone"}, "one of text, int"),
    ],
)
def test_what_cannot_be_meant_is_refused(option: str, value: Any, hint: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        Reading.read(**{option: value})
    assert hint in str(refused.value)
    assert refused.value.argument.startswith(option)


def test_a_separator_is_no_quote() -> None:
    with pytest.raises(InvalidArgumentError, match="a character other than the separator"):
        Reading.read(sep="'", quote="'")


def test_what_was_not_said_changes_no_name_of_a_question() -> None:
    """A ledger knows old questions by their types alone; whatever is said beside them makes another question."""
    assert Reading.read().named() == {}
    assert Reading.read(types={"age": "int", "*": "line"}).named() == {"age": "int", "*": "line"}
    said = Reading.read(types={"age": "int"}, sep=";", date_format="%d.%m.%Y")
    assert said.named() == {"age": "int", "": '{"date_format": {"*": "%d.%m.%Y"}, "sep": ";"}'}
    assert said.types == {"age": ColumnType.INTEGER}


def test_every_option_is_said_in_python_and_in_the_shell() -> None:
    told = inspect.getdoc(ul.table) or ""
    for name in HELP:
        assert f"{name}:" in told
        assert inspect.signature(ul.table).parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
    assert list(ReadingOptions.__dataclass_fields__) == list(HELP)
