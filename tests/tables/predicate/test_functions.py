"""Computed items and the functions of predicates: equal in every engine, and total."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.shell import unlisted
from tests.tables.fixtures.asked import all_counts, all_listed, question
from tests.tables.fixtures.engines import DATES_ARE_OBJECTS, EMPTY_TEXT_IS_MISSING, MAKERS, Given
from tests.tables.predicate.functions_reference import label

import unlisted as ul
from unlisted.errors import InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.items import answer_name, item_columns
from unlisted.tables.predicate.grammar import parse_item, parse_predicate

SCHEMA = {
    "q": ColumnType.TEXT,
    "n": ColumnType.INTEGER,
    "x": ColumnType.FLOAT,
    "ok": ColumnType.BOOLEAN,
    "day": ColumnType.DATE,
    "t": ColumnType.TIMESTAMP,
}
TEXTS = [
    *(
        "",
        " ",
        "a",
        "A",
        " Ab\t",
        "\r\nZz\n",
        "ÄÖ äö ß ẞ",
        "İiıI",
        "日本語",
        "e\u0301E\u0301",
        "\u00a0x\u00a0",
        "𝒳Y",
        "\ufb01",
    ),
    *(
        "12",
        "-7",
        "+5",
        "007",
        "1_2",
        "１２",
        " 12",
        "12\n",
        "9" * 18,
        "9" * 19,
        "1.5",
        ".5",
        "2.",
        "2e3",
        "1e99",
        "-0",
        "NaN",
    ),
    *("inf", "0x10", "1e100", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "2024-2-9", "2024-04-31"),
    *("0000-01-01", "0001-01-01", "9999-12-31", "2024-02-29\n", "2024-02-29 10:30", "2024-02-29T23:59:59.5"),
    *(
        "2024-02-29 24:00",
        "2024-02-29 10:60",
        "infinity",
        "today",
        "epoch",
        "J2460000",
        "it's",
        "a\\b",
        "%_",
        "x" * 300,
    ),
]
NUMBERS = [0, 1, -1, 7, -7, 100, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
DOUBLES = [
    0.0,
    -0.0,
    0.1,
    9.99,
    10.0,
    -0.1,
    -10.0,
    1e15,
    1.1e15,
    1e-41,
    5e-324,
    1e41,
    1.7e308,
    math.inf,
    -math.inf,
    math.nan,
]
DAYS = [
    date(1, 1, 1),
    date(9999, 12, 31),
    date(2024, 2, 29),
    date(1970, 1, 1),
    date(1969, 12, 31),
    date(2023, 1, 1),
]
MOMENTS = [
    *(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(1969, 12, 31, 23, 59, 59, 999_999)),
    # Where clocks went forward or back in places whose zone a session could have.
    *(
        datetime(2024, 3, 10, 2, 30, 1, 5),
        datetime(2024, 3, 31, 2, 30),
        datetime(2024, 10, 27, 2, 30, 59, 999_999),
    ),
]
SIZE = max(map(len, (TEXTS, NUMBERS, DOUBLES, DAYS, MOMENTS)))


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    turned = [values[at % len(values)] for at in range(SIZE)]
    return pa.array([*turned, None], kind)


ROWS = pa.table(
    {
        "u": pa.array([f"u{at}" for at in range(SIZE + 1)]),
        "q": _column(TEXTS, pa.string()),
        "n": _column(NUMBERS, pa.int64()),
        "x": _column(DOUBLES, pa.float64()),
        "ok": _column([True, False], pa.bool_()),
        "day": _column(DAYS, pa.date32()),
        "t": _column(MOMENTS, pa.timestamp("us")),
    }
)
ITEMS = [
    *("lower(q)", "upper(q)", "trim(q)", "left(q, 2)", "length(q)", "lower(trim(left(q, 3)))", "length(upper(q))"),
    *("CAST(q AS int)", "CAST(q AS float)", "CAST(q AS date)", "CAST(q AS timestamp)", "CAST(trim(q) AS int) * 2"),
    *("date(q)", "CAST(n AS text)", "CAST(ok AS text)", "CAST(day AS text)", "CAST(day AS timestamp)", "date(t)"),
    *("floor(x / 10) * 10", "ceil(x)", "floor(x)", "n * 2", "n * 0.5", "-x", "n % 10", "floor(n / 10)", "x > 1"),
    *(
        f"date_trunc('{unit}', t)"
        for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
    ),
    *(f"date_trunc('{unit}', day)" for unit in ("year", "quarter", "month", "week", "day")),
    *("extract(dow FROM t)", "extract(hour FROM t)", "month(day)", "date(date_trunc('month', t))"),
]
FEW = ["lower(trim(q))", "floor(x / 10) * 10", "date_trunc('month', t)", "CAST(q AS date)", "n * 2"]


def wanted(item: str, rows: list[dict[str, Any]]) -> Counter[str]:
    """The users of each label, by the reference."""
    return Counter(
        said(found)
        for row in rows
        if (found := label(item, row)) is not None and not (isinstance(found, float) and math.isnan(found))
    )


def said(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def counted(table: Any, item: str) -> Counter[str]:
    return Counter({said(one): count for (one,), count in all_listed(table, question(item))})


def readable_rows() -> list[dict[str, Any]]:
    return [
        {**row, "x": None if row["x"] is None or math.isnan(row["x"]) else row["x"]} for row in ROWS.to_pylist()
    ]


EVERY_DIALECT = ("parquet", "postgres", "spark")


def made(source: str, rows: pa.Table, folder: Path, request: pytest.FixtureRequest) -> Any:
    """The rows as a table, without what a source cannot hold: PostgreSQL is given no NaN by its maker."""
    if source == "postgres":
        numbers = [None if v is None or math.isnan(v) else v for v in rows["x"].to_pylist()]
        rows = rows.set_column(rows.column_names.index("x"), "x", pa.array(numbers))
    if source != "spark":
        return MAKERS[source](rows, folder, request).table("u")
    # As texts first: as moments they would be moved by the session's time zone, and back.
    texts = [None if t is None else t.isoformat(sep=" ") for t in rows["t"].to_pylist()]
    given = MAKERS[source](rows.set_column(rows.column_names.index("t"), "t", pa.array(texts)), folder, request)
    frame = given.source.withColumn("t", given.source["t"].cast("timestamp_ntz"))
    return Given(frame, given.keywords).table("u")


@pytest.mark.parametrize("source", EVERY_DIALECT)
def test_every_item_is_what_the_reference_says(
    source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    table = made(source, ROWS, tmp_path, request)
    items = ITEMS if source != "spark" else ITEMS[::8]
    for item in items:
        assert counted(table, item) == wanted(item, readable_rows()), item


@pytest.mark.long
def test_every_item_is_what_the_reference_says_in_spark(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    table = made("spark", ROWS, tmp_path, request)
    for item in ITEMS:
        assert counted(table, item) == wanted(item, readable_rows()), item


OTHERS = [name for name in MAKERS if name not in EVERY_DIALECT and "spark" not in name]


@pytest.mark.parametrize("source", OTHERS)
def test_every_source_computes_alike(source: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    # Without the row that holds nothing: pandas would make floats of whole numbers beside it.
    plain = ROWS.slice(0, SIZE).select(["u", "q", "n", "x", "day"])
    kept = [
        not (source in EMPTY_TEXT_IS_MISSING and text == "") and "\r" not in (text or "")
        for text in plain["q"].to_pylist()
    ]
    numbers = [x is None or math.isfinite(x) for x in plain["x"].to_pylist()]
    plain = plain.filter(pa.array([one and two for one, two in zip(kept, numbers, strict=True)]))
    table = MAKERS[source](plain, tmp_path, request).table("u")
    rows = plain.to_pylist()
    for item in ("lower(trim(q))", "floor(x / 10) * 10", "n % 10", "date_trunc('month', day)"):
        written = item.replace("day)", "CAST(day AS date))") if source in DATES_ARE_OBJECTS else item
        assert counted(table, written) == wanted(item, rows), item


def test_the_reference_tells_items_apart() -> None:
    for item in ITEMS:
        assert len(wanted(item, readable_rows())) > 1, item


CONDITIONS = {
    "q ILIKE '%B%'": lambda row: row["q"] is not None and "b" in row["q"].lower(),
    "q NOT ILIKE 'a%'": lambda row: row["q"] is not None and row["q"][:1] not in ("a", "A"),
    "q ILIKE '50!%' ESCAPE '!'": lambda row: row["q"] == "50%",
    "lower(q) = 'a'": lambda row: row["q"] in ("a", "A"),
    "lower(q) IN ('a', 'it''s')": lambda row: row["q"] in ("a", "A", "it's"),
    "length(trim(q)) BETWEEN 1 AND 2": lambda row: (
        row["q"] is not None and 1 <= len(row["q"].strip(" \t\n\r")) <= 2
    ),
    "CAST(q AS int) > 6": lambda row: (label("CAST(q AS int)", row) or 0) > 6,
    "CAST(q AS float) < 1": lambda row: (
        label("CAST(q AS float)", row) is not None and label("CAST(q AS float)", row) < 1
    ),
    "CAST(q AS date) = DATE '2024-02-29'": lambda row: label("CAST(q AS date)", row) == date(2024, 2, 29),
    "CAST(n AS text) LIKE '%7'": lambda row: str(row["n"]).endswith("7"),
    "date_trunc('month', t) = '2024-03-01'": lambda row: (
        label("date_trunc('month', t)", row) == datetime(2024, 3, 1)
    ),
    "date(t) = '2024-03-31'": lambda row: row["t"] is not None and row["t"].date() == date(2024, 3, 31),
    "floor(x) = 9": lambda row: label("floor(x)", row) == 9,
    "floor(x / 10) % 2 = 1": lambda row: (
        abs(label("floor(x / 10)", row) or 0) % 2 == 1 and label("floor(x / 10)", row) > 0
    ),
    "lower(q) IS NULL": lambda row: row["q"] is None,
}


@pytest.mark.parametrize("source", EVERY_DIALECT)
def test_the_same_functions_stand_in_conditions(
    source: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rows = ROWS.append_column("item", pa.array(["it"] * len(ROWS)))
    table = made(source, rows, tmp_path, request)
    texts = list(CONDITIONS) if source != "spark" else list(CONDITIONS)[::5]
    for where in texts:
        passing = sum(bool(CONDITIONS[where](row)) for row in readable_rows())
        assert sum(all_counts(table, question("item", where=where)).values()) == passing, where


def test_a_text_of_a_megabyte_is_computed_with_and_a_longer_one_is_not(postgres_url: str) -> None:
    texts = ["a" * 2**20, "b" * (2**20 + 1), "é" * 2**19, "ü" * (2**19 + 1)]
    rows = pa.table({"u": ["1", "2", "3", "4"], "q": texts})
    found = all_counts(ul.table(rows, user="u")._table, question("left(q, 1)"))
    assert found == {("a",): 1, ("é",): 1}


def test_an_answer_has_the_name_that_was_said_or_what_was_computed() -> None:
    assert answer_name("lower(q)") == "lower(q)"
    assert answer_name("lower(q) AS term") == "term"
    assert answer_name('lower(q) as "a ""b"""') == 'a "b"'
    assert answer_name("q") == "q"
    rows = pa.table({"u": [str(at) for at in range(500)], "q": ["A", "a"] * 250, "n": [1] * 500})
    table = ul.table(rows, user="u")
    budget = ul.Budget(epsilon=5, delta=1e-6)
    both = table.histogram(["lower(q) AS term", "n + 1"], budget=budget, items_per_user=1).run()
    assert both.table.column_names == ["term", "n + 1", "count", "low", "high"]
    assert [(row["term"], row["n + 1"]) for row in both.rows] == [("a", 2)]
    assert list(both.plan["items"]) == ["lower(q) AS term", "n + 1"]


def test_a_column_of_exactly_that_name_is_that_column() -> None:
    columns = {"lower(q)": ColumnType.TEXT, "q": ColumnType.TEXT, "a-b": ColumnType.TEXT, "count": ColumnType.TEXT}
    assert [item.computed for item in item_columns(("lower(q)", "a-b", "count AS c", '"a-b" AS ab'), columns)] == [
        None
    ] * 4
    assert item_columns(("count AS c",), columns)[0].source == "count"
    assert (
        item_columns(("upper(q)",), {**columns, "UNLISTED_ITEM0": ColumnType.TEXT})[0].source == "unlisted_item0_"
    )


def test_groups_may_be_computed() -> None:
    rows = pa.table({"u": [str(at) for at in range(900)], "q": ["A", "b", "C"] * 300, "n": list(range(900))})
    table = ul.table(rows, user="u")
    release = table.histogram(
        "lower(q) AS term", by="n % 2 AS odd", groups=[1], epsilon=5, delta=1e-6, items_per_user=1
    ).run()
    assert {(row["odd"], row["term"]) for row in release.rows} == {(1, "a"), (1, "b"), (1, "c")}
    assert release.chart() is not None


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("lowr(q)", ["`lowr` is not an allowed function"]),
        ("lower(Q)", ["`Q` is neither a column", "the columns are: q, n, x"]),
        ("lower(n)", ['`"n"`', "lower takes text", "CAST"]),
        ("querry", ["a column of the source", "The columns are: q, n"]),
        ("left(q, n)", ["left(query, 3)"]),
        ("left(q, 0)", ["1 to 65536"]),
        ("date_trunc('moth', t)", ["`moth`", "quarter"]),
        ("date_trunc('hour', day)", ["a date has no hour"]),
        ("date_trunc('month', q)", ["takes a date or a timestamp", "--types"]),
        ("CAST(x AS int)", ["floor"]),
        ("CAST(x AS text)", ["engines write float differently"]),
        ("CAST(q AS blob)", ["`blob` is no type", "timestamp"]),
        ("CAST(q AS decimal(3, 2))", ["`decimal` is no type"]),
        ("CAST(ok AS int)", ["no int can be made of bool"]),
        ("'a'", ["names no column"]),
        ("1 + 1", ["names no column"]),
        ("q || 'a'", ["`||`"]),
        ("TRY_CAST(q AS int)", ["`TRY_CAST`"]),
        ("trim(q, 'x')", ["not allowed"]),
        ("q AS x AS y", ["`AS`"]),
        ("(SELECT 1)", ["`SELECT`"]),
        ("lower(q); DROP", ["`;`"]),
    ],
)
def test_a_refusal_names_the_word_first_and_the_grammar_last(item: str, words: list[str]) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        item_columns((item,), SCHEMA)
    said = str(refused.value)
    assert refused.value.argument == "item"
    for word in words:
        assert word in said
    if " It must be " in said:
        assert said.index(words[0]) < said.index(" It must be ")


def test_functions_inside_functions_stay_small() -> None:
    deep = "floor(" * 8 + "x" + " + 1)" * 8
    with pytest.raises(InvalidArgumentError, match="too many functions"):
        parse_item(deep, SCHEMA)
    assert len(parse_item("lower(" * 15 + "q" + ")" * 15, SCHEMA).sql("spark")) < 5000  # type: ignore[union-attr]


def test_names_of_answers_must_differ_and_be_free() -> None:
    rows = pa.table({"u": ["1"], "q": ["a"], "n": [1]})
    table = ul.table(rows, user="u")
    with pytest.raises(InvalidArgumentError, match="different columns"):
        table.histogram(["lower(q) AS n", "n"], epsilon=1)
    with pytest.raises(InvalidArgumentError, match="item_count"):
        table.histogram("lower(q) AS count", epsilon=1)
    with pytest.raises(InvalidArgumentError, match="other than the user's"):
        table.histogram("u AS who", epsilon=1)


def test_decimals_are_computed_as_doubles() -> None:
    rows = pa.table({"u": ["1", "2"], "p": pa.array([Decimal("19.99"), Decimal("20.00")])})
    found = all_counts(ul.table(rows, user="u")._table, question("floor(p / 10) * 10"))
    assert found == {(10,): 1, (20,): 1}


def test_old_conditions_stay_as_they_are() -> None:
    """What a ledger was charged for is known by its text; the statements of old texts are golden elsewhere."""
    assert parse_predicate("n = 1", SCHEMA).sql("duckdb") == '"n" = 1'


def test_a_stream_counts_what_is_computed(tmp_path: Path) -> None:
    budget, how = ul.Budget(epsilon=5, delta=1e-6), {"unit": "event", "items_per_event": 1, "user": "u"}
    stream = ul.Stream.create(tmp_path / "stream", rounds=4, item="lower(q) AS term", budget=budget, **how)
    rows = pa.table({"u": [str(at) for at in range(2000)], "q": ["Tea", "tea"] * 1000})
    release = stream.push(rows)
    assert release is not None
    assert release.table.column_names[0] == "term"
    assert [row["term"] for row in release.rows] == ["tea"]


def test_a_shell_counts_what_is_computed(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("u,q\n" + "".join(f"{at},{'Tea ' if at % 2 else 'tea'}\n" for at in range(900)))
    asked = ("histogram", path, "--user", "u", "--item", "lower(trim(q)) AS term", "--epsilon", "5")
    lines = unlisted(*asked, "--items-per-user", "1", "--format", "csv").text.splitlines()
    assert lines[0].startswith("term,count")
    assert [line.split(",")[0] for line in lines[1:]] == ["tea"]


def test_check_counts_what_is_computed() -> None:
    rows = pa.table({"u": ["1", "1", "2"], "q": ["Tea", "tea", None]})
    found = ul.check(rows, user="u", item="lower(q)", items_per_user=1)
    assert found.users is not None
    assert (found.users.users, found.users.most) == (1, 1)
    assert found.left_out == {"q: empty, or not to be read": 1}
