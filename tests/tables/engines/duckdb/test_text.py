"""CSV and JSON lines: nothing guessed, nothing raised, and a broken line costs its own row."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.table import table

GOOD = b"".join(b"u%d,item%d\n" % (i, i % 3) for i in range(6))
GOOD_COUNTS = {("item0",): 2, ("item1",): 2, ("item2",): 2}
GOOD_LINES = b"".join(b'{"user": "u%d", "item": "item%d"}\n' % (i, i % 3) for i in range(6))

PATIENT = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
BY_LINE = {"*": "line"}
FIELDS = st.text(st.sampled_from(["a", '"', ",", "\t", " ", "é", "\\", "'", "\u2028", "\x1f", "😀"]), max_size=4)
"""What may stand in a field that holds no line break."""


def csv_counts(path: Path, content: bytes, **keywords: Any) -> dict[Any, int]:
    path.write_bytes(content)
    return all_counts(table(path, user="user", **keywords), question("item"))


LINES: list[tuple[bytes, dict[Any, int]]] = [
    (b"x", {}),
    (b"x,", {}),
    (b",y", {}),
    (b'x,""', {}),
    (b"", {}),
    (b"x,y,z", {}),
    (b"x,\xff\xfe", {}),
    (b"x,y\x00z", {("y\x00z",): 1}),
    (b'x,a"b', {('a"b',): 1}),
    (b'x,"a""b"', {('a"b',): 1}),
    (b'x,"a,b"', {("a,b",): 1}),
    (b"x, y ", {(" y ",): 1}),
    (b"x,NULL", {("NULL",): 1}),
    (b"x," + b"y" * 3_000_000, {}),
]
"""Lines that are read alike however rows are told apart, and what each of them counts."""


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        *LINES,
        (b"x,y,z,w", {}),
        (b"x,y\xc3", {}),
        (b'x,"a\nb"', {("a\nb",): 1}),
        (b"#x,y", {("y",): 1}),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_broken_row_is_dropped_and_its_neighbours_stay(tmp_path: Path, line: bytes, kept: Any) -> None:
    content = b"user,item\n" + GOOD + line + b"\n" + GOOD.replace(b"u", b"v")
    expected = {label: 2 * n for label, n in GOOD_COUNTS.items()} | kept
    assert csv_counts(tmp_path / "rows.csv", content) == expected


pieces = st.sampled_from(
    [b",", b'"', b"\r", b"\x00", b"\xff", b"a", b" ", b"\\", b"'", b"\xc3\xa9", b"\xe2", b"\t"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=PATIENT)
@given(st.lists(pieces, max_size=8).map(b"".join))
def test_no_line_of_a_csv_file_raises(tmp_path: Path, line: bytes) -> None:
    content = b"user,item\n" + GOOD + line + b"\n" + GOOD.replace(b"u", b"v")
    counted = csv_counts(tmp_path / "rows.csv", content)
    assert all(counted[label] >= n for label, n in GOOD_COUNTS.items()), "rows before the line were lost"
    # Inside an unclosed quote a line break is text, and a bare carriage return ends a row: there, what follows
    # belongs to the quote. In every other case the rows after the line must be there too.
    if line.count(b'"') == 0:
        assert all(counted[label] >= 2 * n for label, n in GOOD_COUNTS.items()), "rows after the line were lost"


@pytest.mark.parametrize("line", [b'x,"abc', b'"x,abc', rb'x,"say \"hi"'], ids=["item", "user", "backslash"])
def test_an_unclosed_quote_raises_nothing_but_takes_all_rows_after_it(tmp_path: Path, line: bytes) -> None:
    """A weakness that is known: whoever cannot vouch for the quotes of a file declares that lines are rows."""
    after = GOOD.replace(b"u", b"v") + b'w,"item0"\n' + GOOD.replace(b"u", b"w")
    content = b"user,item\n" + GOOD + line + b"\n" + after
    quoted = csv_counts(tmp_path / "rows.csv", content)
    assert {label: quoted[label] for label in GOOD_COUNTS} == GOOD_COUNTS
    by_line = csv_counts(tmp_path / "rows.csv", content, types=BY_LINE)
    assert by_line == {label: 3 * n + (label == ("item0",)) for label, n in GOOD_COUNTS.items()}


class TestByLine:
    """`types={"*": "line"}`: a line is a row, and what stands in it changes no other row."""

    @pytest.mark.parametrize(
        ("line", "kept"),
        [
            *LINES,
            (b'"",y', {}),
            (b"x,y,", {}),
            (b'x,"a"",""b"', {('a","b',): 1}),
            (b'x,""""', {('"',): 1}),
            (b'"x","y"', {("y",): 1}),
            (b'x,"a"b', {}),
            (b'x,"a', {}),
            (b'"x,a', {}),
            (rb'x,"a\"b"', {}),
            (b'x,"', {}),
            ("x,é\u2028".encode(), {("é\u2028",): 1}),
            ('x,"é😀""e\u0301"'.encode(), {('é😀"e\u0301',): 1}),
            (b"x,y\x1f\x1e\x1f\x1e", {("y",): 1}),
            (b"x,y\x1f\x1e\x1f\x1ez", {}),
        ],
        ids=lambda value: repr(value)[:30],
    )
    def test_a_line_is_a_row_or_none(self, tmp_path: Path, line: bytes, kept: Any) -> None:
        content = b"user,item\n" + GOOD + line + b"\n" + GOOD.replace(b"u", b"v")
        expected = {label: 2 * n for label, n in GOOD_COUNTS.items()} | kept
        assert csv_counts(tmp_path / "rows.csv", content, types=BY_LINE) == expected

    @settings(max_examples=15, deadline=None, suppress_health_check=PATIENT)
    @given(st.lists(st.lists(pieces.filter(lambda piece: piece != b"\r"), max_size=8).map(b"".join), max_size=9))
    def test_no_line_changes_what_others_are(self, tmp_path: Path, lines: list[bytes]) -> None:
        strange = b"".join(line + b"\n" for line in lines)
        content = b"user,item\n" + GOOD + strange + GOOD.replace(b"u", b"v")
        counted = csv_counts(tmp_path / "rows.csv", content, types=BY_LINE)
        own = {label: n for label, n in counted.items() if label not in GOOD_COUNTS}
        assert {label: n for label, n in counted.items() if label in GOOD_COUNTS} == {
            label: 2 * n for label, n in GOOD_COUNTS.items()
        }
        assert sum(own.values()) <= len(lines)

    @settings(max_examples=15, deadline=None, suppress_health_check=PATIENT)
    @given(st.lists(st.tuples(FIELDS, FIELDS), max_size=5), st.sampled_from([",", "\t"]))
    def test_a_good_file_is_read_as_any_other(
        self, tmp_path: Path, rows: list[tuple[str, str]], separator: str
    ) -> None:
        written = io.StringIO()
        csv.writer(written, delimiter=separator, lineterminator="\n").writerows([("user", "item"), *rows])
        path = tmp_path / ("rows.csv" if separator == "," else "rows.tsv")
        content = written.getvalue().encode()
        assert csv_counts(path, content, types=BY_LINE) == csv_counts(path, content)

    def test_a_field_with_line_breaks_is_torn(self, tmp_path: Path) -> None:
        """So it is not the rule: the middle of a text would count for whomever it names."""
        content = b'user,item\nx,"one\nsomebody,else\nthree"\n'
        assert csv_counts(tmp_path / "rows.csv", content) == {("one\nsomebody,else\nthree",): 1}
        assert csv_counts(tmp_path / "rows.csv", content, types=BY_LINE) == {("else",): 1}

    @pytest.mark.parametrize("end", [b"\n", b"\r\n"])
    def test_lines_end_as_they_do_elsewhere(self, tmp_path: Path, end: bytes) -> None:
        content = (b"\xef\xbb\xbf" + b'"user",item\n' + GOOD.rstrip(b"\n")).replace(b"\n", end)
        assert csv_counts(tmp_path / "rows.csv", content, types=BY_LINE) == GOOD_COUNTS

    def test_columns_are_declared_beside_it(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.csv"
        path.write_text('user,item,age\na,x,"1"\nb,x,one\nc,x\n')
        source = table(path, user="user", types={**BY_LINE, "age": "int"})
        assert all_counts(source, question("item")) == {("x",): 3}
        assert all_counts(source, question("item", where="age = 1 OR age IS NULL")) == {("x",): 2}
        assert all_counts(source, question("item", where="age = 1")) == {("x",): 1}

    @pytest.mark.parametrize("types", [{}, BY_LINE], ids=["quoted", "by line"])
    def test_no_name_of_a_column_is_taken(self, tmp_path: Path, types: dict[str, str]) -> None:
        path = tmp_path / "rows.csv"
        path.write_text("c1,fields,c0,line,more\n1,2,a,x,5\n2,3,b,x,6\n")
        for name, expected in {"line": {"x": 2}, "fields": {2: 1, 3: 1}, "more": {"5": 1, "6": 1}}.items():
            declared = {**types, "c1": "int", "fields": "int"}
            source = table(path, user="c0", types=declared)
            assert all_counts(source, question(name, where="c1 < fields")) == {
                (label,): n for label, n in expected.items()
            }

    @pytest.mark.parametrize(
        ("name", "types", "said"),
        [
            ("rows.csv", {"item": "line"}, 'all columns: {"*": "line"}'),
            ("rows.csv", {"*": "int"}, "columns of the source only"),
            ("rows.jsonl", BY_LINE, "Only in a CSV file can a row span several lines"),
            ("torn.csv", BY_LINE, "holds a line break"),
        ],
    )
    def test_where_it_makes_no_sense_it_is_refused(
        self, tmp_path: Path, name: str, types: dict[str, str], said: str
    ) -> None:
        (tmp_path / "rows.csv").write_bytes(b"user,item\n" + GOOD)
        (tmp_path / "rows.jsonl").write_bytes(GOOD_LINES)
        (tmp_path / "torn.csv").write_bytes(b'user,"it\nem"\n' + GOOD)
        with pytest.raises(InvalidArgumentError, match=re.escape(said)):
            table(tmp_path / name, user="user", types=types).columns()


@pytest.mark.parametrize(
    "content",
    [
        b"user,item\n" + GOOD,
        b"\xef\xbb\xbfuser,item\n" + GOOD,
        (b"user,item\n" + GOOD).replace(b"\n", b"\r\n"),
        b'"user","item"\n' + GOOD.rstrip(b"\n"),
        b"user,item\r\n" + GOOD,
    ],
    ids=["plain", "byte order mark", "carriage returns", "no last line break", "mixed line breaks"],
)
def test_usual_kinds_of_csv_are_read(tmp_path: Path, content: bytes) -> None:
    assert csv_counts(tmp_path / "rows.csv", content) == GOOD_COUNTS


def test_tabs_separate_the_fields_of_a_tsv_file(tmp_path: Path) -> None:
    content = (b"user,item\n" + GOOD + b'x,"a b"\n').replace(b",", b"\t")
    assert csv_counts(tmp_path / "rows.tsv", content) == GOOD_COUNTS | {("a b",): 1}


def test_a_semicolon_is_no_separator_however_often_it_comes(tmp_path: Path) -> None:
    assert csv_counts(tmp_path / "rows.csv", b"user,item\na,x;y\nb,x;y\n") == {("x;y",): 2}


def test_compressed_files_and_several_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress(b"user,item\na,x\n"))
    (tmp_path / "2.csv.gz").write_bytes(gzip.compress(b"user,item\na,x\nb,x\n"))
    assert all_counts(table(f"{tmp_path}/*.csv.gz", user="user"), question("item")) == {("x",): 2}


def test_numbers_are_text_unless_they_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user,item,age\na,01,5\nb,1,05\n")
    source = table(path, user="user")
    assert set(source.columns().values()) == {ColumnType.TEXT}
    assert all_counts(source, question("item")) == {("01",): 1, ("1",): 1}
    with pytest.raises(InvalidArgumentError, match="types"):
        source.rows(question("item", where="age > 4"))


def test_rows_that_are_not_what_they_are_declared_to_be_are_dropped(tmp_path: Path) -> None:
    """Peers 13 and 14: a failed cast makes no NULL that a predicate could count, it drops the row."""
    path = tmp_path / "rows.csv"
    path.write_text("user,item,age\na,x,1\nb,x,1.5\nc,x,one\nd,x,\ne,x,+7\nf,x,99999999999999999999\ng,x,1e3\n")
    source = table(path, user="user", types={"age": "int"})
    assert source.columns()["age"] is ColumnType.INTEGER
    assert all_counts(source, question("item", where="age IS NULL OR age > 0")) == {("x",): 3}
    assert all_counts(source, question("item", where="age IS NULL")) == {("x",): 1}
    assert all_counts(source, question("item", where="age > 5")) == {("x",): 1}


@pytest.mark.parametrize(
    ("word", "texts", "values"),
    [
        ("int", ["12", "x"], {12}),
        ("float", ["1.5", "nan", "inf", "x"], {1.5, float("inf")}),
        ("decimal", ["1.50", "x"], {"1.5"}),
        ("bool", ["true", "f", "maybe"], {True, False}),
        ("date", ["2024-02-29", "2023-02-29", "infinity"], {"2024-02-29"}),
        ("timestamp", ["2024-02-29 10:00:00", "yesterday", "infinity"], {"2024-02-29 10:00:00"}),
        ("text", ["x", "01"], {"x", "01"}),
    ],
)
def test_columns_can_be_declared(tmp_path: Path, word: str, texts: list[str], values: set[Any]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user,item\n" + "".join(f"u{i},{text}\n" for i, text in enumerate(texts)))
    found = all_counts(table(path, user="user", types={"item": word}), question("item"))
    said = {label if isinstance(label, bool | int | float) else str(label).rstrip("0") for (label,) in found}
    assert said == {value.rstrip("0") if isinstance(value, str) else value for value in values}


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"age": "number"}, "one of text, int, decimal, float, bool, date, timestamp"),
        ({"agee": "int"}, "The columns are named by the first line of the file, which is not shown here."),
    ],
)
def test_wrong_declarations_are_refused(tmp_path: Path, types: dict[str, str], message: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("user,item,age\na,x,1\n")
    with pytest.raises(InvalidArgumentError, match=message):
        table(path, user="user", types=types).columns()


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", "must name the columns"),
        (b"\n", "must name the columns"),
        (b"user,\xff\n", "is not UTF-8"),
        (b"user,item,user\n", "have the same name"),
        (b"user,item,ITEM\n", "have the same name"),
    ],
)
def test_a_header_that_names_no_columns_is_refused(tmp_path: Path, header: bytes, message: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(header + GOOD if header else b"")
    with pytest.raises(InvalidArgumentError, match=message):
        table(path, user="user").columns()


def test_a_nameless_column_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(",user,,item\n0,a,z,x\n1,b,z,x\n")
    source = table(path, user="user")
    assert list(source.columns()) == ["user", "item"]
    assert all_counts(source, question("item")) == {("x",): 2}


def test_files_with_different_headers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("user,item\n")
    (tmp_path / "2.csv").write_text("item,user\n")
    with pytest.raises(InvalidArgumentError, match="different headers"):
        table(f"{tmp_path}/*.csv", user="user").columns()


def test_a_file_that_is_not_compressed_as_it_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(b"user,item\n" + GOOD)
    with pytest.raises(InvalidArgumentError, match="cannot be opened"):
        table(path, user="user").columns()


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (b"[1, 2]", {}),
        (b"5", {}),
        (b'"x"', {}),
        (b'{"user": "x", "item":', {}),
        (b'{"user": "x", "item": null}', {}),
        (b'{"user": "x"}', {}),
        (b'{"USER": "x", "ITEM": "y"}', {}),
        (b'{"user": "x", "item": "\xff"}', {}),
        (b'{"user": "x", "item": "\\ud800"}', {}),
        (b'{"user": "x", "item": "a"}{"user": "y", "item": "a"}', {}),
        (b"", {}),
        (b'{"user": "x", "item": ""}', {("",): 1}),
        (b'{"user": "x", "item": "a\\u0000b"}', {("a\x00b",): 1}),
        (b'{"user": 7, "item": {"a": [1, 2]}}', {('{"a":[1,2]}',): 1}),
        (b'{"user": true, "item": 12}', {("12",): 1}),
        (b'{"user": "x", "item": "y", "more": 1}', {("y",): 1}),
        (b'{"user": "x", "item": ' + b"[" * 5000, {}),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_a_broken_line_of_json_is_dropped_and_its_neighbours_stay(tmp_path: Path, line: bytes, kept: Any) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(GOOD_LINES + line + b"\n" + GOOD_LINES.replace(b'"u', b'"v').replace(b'"vser"', b'"user"'))
    expected = {label: 2 * n for label, n in GOOD_COUNTS.items()} | kept
    assert all_counts(table(path, user="user"), question("item")) == expected


def test_json_columns_are_the_keys_of_the_first_line_and_what_is_declared(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('\n{"user": 1, "item": "x"}\n' + json.dumps({"user": 2, "item": "x", "age": 30}))
    with pytest.raises(InvalidArgumentError, match="The columns are: user, item"):
        table(path, user="user").rows(question("age"))
    source = table(path, user="user", types={"age": "int"})
    assert list(source.columns()) == ["user", "item", "age"]
    assert all_counts(source, question("item", where="age = 30")) == {("x",): 1}


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_only_columns_that_a_question_reads_can_drop_a_row(tmp_path: Path, name: str) -> None:
    """A declared type that no row has, of a column that nobody asked about, emptied a release."""
    (tmp_path / "rows.csv").write_text("user,item,Datum\na,x,31.12.2024\nb,x,1.1.2025\n")
    (tmp_path / "rows.jsonl").write_text(
        '{"user": "a", "item": "x", "Datum": "31.12."}\n{"user": "b", "item": "x"}\n'
    )
    source = table(tmp_path / name, user="user", types={"Datum": "date"})
    assert all_counts(source, question("item")) == {("x",): 2}
    left = {"rows.csv": {}, "rows.jsonl": {("x",): 1}}[name]
    assert all_counts(source, question("item", where="Datum IS NULL")) == left


def test_a_key_that_is_no_text_is_no_column(tmp_path: Path) -> None:
    """It could not even be named in a message."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(rb'{"\ud800": 1, "user": "a", "item": "i"}' + b"\n" + GOOD_LINES)
    assert list(table(path, user="user").columns()) == ["user", "item"]
    with pytest.raises(InvalidArgumentError) as refused:
        table(path, user="nobody").columns()
    assert str(refused.value).encode()


def test_compressed_json_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(GOOD_LINES))
    assert all_counts(table(path, user="user"), question("item")) == GOOD_COUNTS


@pytest.mark.parametrize(
    ("user", "item", "where", "types"),
    [
        ("nobody", "item", None, None),
        ("alice", "dish", None, None),
        ("alice", "influenza", "age = 1", None),
        ("alice", "influenza", None, {"age": "int"}),
    ],
    ids=["user", "item", "where", "types"],
)
def test_a_first_line_that_is_a_row_is_not_shown(
    tmp_path: Path, user: str, item: str, where: str | None, types: dict[str, str] | None
) -> None:
    """A CSV file without a header: its first row is taken for names, and no message may list them."""
    path = tmp_path / "rows.csv"
    path.write_text("alice,influenza,x91\nbob,measles,x92\n")
    with pytest.raises(InvalidArgumentError) as refused:
        table(path, user=user, types=types).rows(question(item, where=where))
    assert "x91" not in str(refused.value)
    assert "first line" in str(refused.value)
