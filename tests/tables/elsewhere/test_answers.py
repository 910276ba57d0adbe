"""What comes back from elsewhere: whole answers are read, and everything that is not whole or exact is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from unlisted.errors import InvalidArgumentError, InvalidCountsError, UnlistedError
from unlisted.query.counts_elsewhere import counting_sql, read_counts
from unlisted.tables.elsewhere.answers import read_answer
from unlisted.tables.elsewhere.header import Header

ROWS = [(f"u{user}", f"i{item}") for user in range(30) for item in range(user % 7)]


def answered(path: Path, question: str = "histogram", **asked: Any) -> pa.Table:
    """Let DuckDB answer a statement, and write what it says as CSV."""
    how = {"items_per_user": 3} | asked
    statement = counting_sql(question, dialect="duckdb", table="visits", user="user", item="page", **how)
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE visits ("user" VARCHAR, page VARCHAR)')
        connection.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
        found = connection.sql(statement).to_arrow_table()
    pyarrow.csv.write_csv(found, path)
    return found


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    answered(tmp_path / "answer.csv")
    return tmp_path / "answer.csv"


# Answers to statements


def test_bounds_travel_with_the_counts(answer: Path) -> None:
    found = read_counts(answer)
    assert found.meant_for == "histogram"
    assert repr(found) == "<BoundedCounts: all counts, Sensitivity(items=3, count=1, adjacency='add_remove')>"
    assert list(found.columns()) == ["user", "page"]


@pytest.mark.parametrize(
    "told",
    [
        {"items_per_user": 2},
        {"items_per_user": 4},
        {"count_per_item": 2},
        {"fetch": 10},
        {"minimum_count": 5},
        {"ties": "unknown"},
        {"item": "query"},
        {"user": "name"},
    ],
)
def test_a_file_is_not_released_under_another_bound(answer: Path, told: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="as in the statement, or left out") as refused:
        read_counts(answer, **told)
    assert refused.value.argument == next(iter(told))


def test_the_same_bound_may_be_said(answer: Path) -> None:
    assert read_counts(answer, items_per_user=3, item="page", user="user").meant_for == "histogram"


Change = Callable[[list[str]], list[str]]
BROKEN: dict[str, tuple[Change, str]] = {
    "the first lines only": (lambda lines: lines[:3], "not one row whose column 'unlisted'"),
    "without a row": (lambda lines: [lines[0], *lines[2:]], "Rows are missing"),
    "a row twice": (lambda lines: [*lines, lines[1]], "Rows are missing"),
    "a header twice": (lambda lines: [*lines, lines[-1]], "not one row whose column 'unlisted'"),
    "another bound": (lambda lines: [*lines[:-1], lines[-1].replace("_user=3", "_user=x")], "no whole number"),
    "another form": (lambda lines: [*lines[:-1], lines[-1].replace("counts-1", "counts-2")], "of this version"),
    "labels translated": (lambda lines: [lines[0], lines[1].replace('"69', '"zz', 1), *lines[2:]], "hexadecimal"),
    "a count with a fraction": (lambda lines: [lines[0], lines[1].replace(",", ",1.", 1), *lines[2:]], "whole"),
}


@pytest.mark.parametrize(("change", "said"), BROKEN.values(), ids=BROKEN)
def test_an_answer_that_is_not_whole_is_refused(answer: Path, change: Change, said: str) -> None:
    lines = answer.read_text().splitlines()
    header = next(line for line in lines[1:] if "unlisted-counts" in line)
    lines = [*(line for line in lines if line != header), header]
    answer.write_text("\n".join(lines))
    assert read_counts(answer).meant_for == "histogram"
    answer.write_text("\n".join(change(lines)))
    with pytest.raises(InvalidCountsError, match=said):
        read_counts(answer)


def test_rows_of_two_statements_are_not_mixed(answer: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    answered(other)
    lines, others = answer.read_text().splitlines(), other.read_text().splitlines()
    at = next(n for n, line in enumerate(lines) if n and "unlisted-counts" not in line)
    mixed = next(line for line in others[1:] if line.split(",")[0] == lines[at].split(",")[0])
    answer.write_text("\n".join([*lines[:at], mixed, *lines[at + 1 :]]))
    with pytest.raises(InvalidCountsError, match="of another answer"):
        read_counts(answer)


def test_columns_in_capitals_and_other_formats_are_read(tmp_path: Path) -> None:
    table = answered(tmp_path / "answer.csv", "top", fetch=3)
    pq.write_table(table.rename_columns([name.upper() for name in table.column_names]), tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    first = read_answer(tmp_path / "answer.csv").labels.to_pylist()
    assert len(first) == 4
    for name in ("a.parquet", "a.jsonl"):
        assert (
            read_answer(tmp_path / name).labels.to_pylist()
            == read_answer(tmp_path / "answer.csv").labels.to_pylist()
        )


def test_a_header_is_read_as_it_was_written() -> None:
    for one in (
        Header("top", "who, when=why", ("a b", "ü%,="), None, 3, 10, "0" * 16),
        Header("histogram", "u", ("i",), 7, 1, None, "f" * 16),
    ):
        assert Header.read(str(one)) == one
        assert str(one).isascii()


# Counts of others


def test_counts_of_others_are_declared(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("drug,country,count\naspirin,FR,300\ntea,,20\n")
    found = read_counts(path, items_per_user=2)
    assert found.histogram(epsilon=1).run().table.column_names[:2] == ["drug", "country"]
    with pytest.raises(InvalidArgumentError, match="--count-column"):
        read_counts(path, items_per_user=2, count_column="users")
    with pytest.raises(InvalidArgumentError, match="a column of labels in the file: drug, country"):
        read_counts(path, items_per_user=2, item="query")


@pytest.mark.parametrize("text", ["", "\xff", "[1, 2]", '[{"a": 1}, {"b": 2}]', "{", "{}", '{"a": 1}'])
@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet", "docx"])
def test_rubbish_is_refused_by_name(tmp_path: Path, text: str, suffix: str) -> None:
    path = tmp_path / f"rubbish.{suffix}"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UnlistedError):
        read_counts(path, items_per_user=1)


def test_no_file_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="a file that can be read"):
        read_counts(tmp_path / "missing.csv")


# Search engines

TERMS = {
    "took": 3,
    "timed_out": False,
    "_shards": {"total": 2, "successful": 2, "skipped": 0, "failed": 0},
    "aggregations": {
        "drug": {
            "doc_count_error_upper_bound": 0,
            "sum_other_doc_count": 7,
            "buckets": [{"key": "aspirin", "doc_count": 310}, {"key": "ibuprofen", "doc_count": 122}],
        }
    },
}
PINOT = {
    "resultTable": {
        "dataSchema": {"columnNames": ["drug", "count(*)"], "columnDataTypes": ["STRING", "LONG"]},
        "rows": [["aspirin", 310], ["ibuprofen", 122]],
    },
    "exceptions": [],
    "numServersQueried": 2,
    "numServersResponded": 2,
    "numGroupsLimitReached": False,
    "groupsTrimmed": False,
}


@pytest.mark.parametrize("given", [TERMS, PINOT], ids=["terms", "pinot"])
def test_an_answer_is_taken_as_it_comes(given: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(given))
    for source in (given, path):
        plan = read_counts(source, fetch=1, items_per_user=1).top(k=1, epsilon=1)
        assert "ties='unknown'" in repr(plan.mechanism)
        assert plan.run().rows == [{"drug": "aspirin", "rank": 1}]


@pytest.mark.parametrize("given", [TERMS, PINOT], ids=["terms", "pinot"])
def test_where_it_was_cut_must_be_said(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="fetch is missing"):
        read_counts(given, items_per_user=1)
    with pytest.raises(InvalidArgumentError, match="in an order of its own"):
        read_counts(given, items_per_user=1, fetch=1, ties="label")
    with pytest.raises(InvalidCountsError, match="more rows than the 2"):
        read_counts(_more(given), items_per_user=1, fetch=1)


def _more(given: dict[str, Any]) -> dict[str, Any]:
    more = copy.deepcopy(given)
    if "aggregations" in more:
        more["aggregations"]["drug"]["buckets"].append({"key": "tea", "doc_count": 1})
    else:
        more["resultTable"]["rows"].append(["tea", 1])
    return more


INEXACT: dict[str, tuple[dict[str, Any], tuple[Any, ...], Any]] = {
    "an error above 0": (TERMS, ("aggregations", "drug", "doc_count_error_upper_bound"), 1),
    "an error that is unknown": (TERMS, ("aggregations", "drug", "doc_count_error_upper_bound"), -1),
    "an error of one bucket": (TERMS, ("aggregations", "drug", "buckets", 0, "doc_count_error_upper_bound"), 4),
    "a shard that failed": (TERMS, ("_shards", "failed"), 1),
    "no word of shards": (TERMS, ("_shards",), {}),
    "a search that timed out": (TERMS, ("timed_out",), True),
    "a search that ended early": (TERMS, ("terminated_early",), True),
    "a cluster that was skipped": (TERMS, ("_clusters",), {"skipped": 1}),
    "no word of an error": (TERMS, ("aggregations", "drug"), {"buckets": []}),
    "two aggregations": (TERMS, ("aggregations", "other"), {}),
    "buckets without counts": (TERMS, ("aggregations", "drug", "buckets", 0), {"key": "aspirin"}),
    "too many groups": (PINOT, ("numGroupsLimitReached",), True),
    "groups that were trimmed": (PINOT, ("groupsTrimmed",), True),
    "no word of trimming": (PINOT, ("groupsTrimmed",), None),
    "a part of the answer": (PINOT, ("partialResult",), True),
    "an exception": (PINOT, ("exceptions",), [{"errorCode": 200}]),
    "a server that did not answer": (PINOT, ("numServersResponded",), 1),
    "no word of servers": (PINOT, ("numServersQueried",), None),
    "an estimate": (PINOT, ("resultTable", "dataSchema", "columnNames", 1), "distinctcounthll(user)"),
    "three columns": (PINOT, ("resultTable", "dataSchema", "columnNames"), ["a", "b", "c"]),
    "rows of other lengths": (PINOT, ("resultTable", "rows", 0), ["a"]),
}


@pytest.mark.parametrize(("given", "place", "value"), INEXACT.values(), ids=INEXACT)
def test_what_may_not_be_exact_is_refused(given: dict[str, Any], place: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(given)
    at: Any = changed
    for name in place[:-1]:
        at = at[name]
    at[place[-1]] = value
    with pytest.raises(UnlistedError) as refused:
        read_counts(changed, items_per_user=1, fetch=1)
    assert "aspirin" not in str(refused.value)
