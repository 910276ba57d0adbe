"""SQLite files: any value may stand in any column, and nobody becomes another by it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import ChargedFailureError, InvalidArgumentError
from unlisted.tables.column_types import ColumnType
from unlisted.tables.table import table


def made(folder: Path, *statements: str, name: str = "shop.sqlite") -> Path:
    with closing(sqlite3.connect(folder / name)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return folder / name


VISITS = 'CREATE TABLE visits ("user" INTEGER, page TEXT)'


def test_one_and_the_text_one_are_not_one_user(tmp_path: Path) -> None:
    path = made(
        tmp_path, VISITS, "INSERT INTO visits VALUES (1, 'a'), ('x1', 'a'), (2, 'a'), (x'01', 'a'), (1.5, 'a')"
    )
    # A value of another storage class than its column's cannot be read.
    assert all_counts(table(path, user="user", table="visits"), question("page")) == {("a",): 2}


def test_a_column_of_no_type_is_no_user_and_no_item_until_it_is_declared(tmp_path: Path) -> None:
    path = made(
        tmp_path, 'CREATE TABLE visits ("user", page TEXT)', "INSERT INTO visits VALUES (1, 'a'), ('1', 'a')"
    )
    rows = table(path, user="user", table="visits")
    with pytest.raises(InvalidArgumentError, match="when two values are the same user"):
        rows.require_user()
    with pytest.raises(InvalidArgumentError, match="a column of plain values"):
        table(path, user="page", table="visits").rows(question("user"))
    for kind, users in (("int", 1), ("text", 1)):
        declared = table(path, user="user", table="visits", types={"user": kind})
        assert all_counts(declared, question("page")) == {("a",): users}


def test_a_column_that_ignores_case_is_no_user(tmp_path: Path) -> None:
    for collation in ("NOCASE", "RTRIM"):
        columns = f'CREATE TABLE t ("user" TEXT COLLATE {collation}, page TEXT)'
        path = made(tmp_path, columns, 'CREATE INDEX i ON t ("user")', name=f"{collation}.sqlite")
        with pytest.raises(InvalidArgumentError, match="treats different texts as the same"):
            table(path, user="user", table="t").require_user()
        table(path, user="page", table="t").require_user()


def test_declared_types_are_what_columns_hold(tmp_path: Path) -> None:
    columns = "a BIGINT, b VARCHAR(9), c DOUBLE, d BOOLEAN, e DATE, f DATETIME, g NUMERIC, h BLOB, i"
    path = made(tmp_path, f"CREATE TABLE t ({columns})")
    assert [kind.value for kind in table(path, user="a", table="t").columns().values()] == [
        *("int", "text", "float", "bool", "date", "timestamp", "other", "other", "other")
    ]


def test_dates_and_moments_are_read_or_not_there(tmp_path: Path) -> None:
    days = "('2025-11-30'), ('30.11.2025'), (20251130), (NULL), ('2025-11-31'), ('')"
    path = made(tmp_path, "CREATE TABLE t (u INTEGER PRIMARY KEY, day DATE)", f"INSERT INTO t (day) VALUES {days}")
    found = all_counts(table(path, user="u", table="t"), question("day"))
    assert [(str(day), n) for (day,), n in found.items()] == [("2025-11-30", 1)]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_texts_are_their_utf_8_bytes_in_every_encoding(encoding: str, tmp_path: Path) -> None:
    rows = "('é', 'a'), ('é', 'é'), ('e\u0301', 'é'), (CAST(x'FFFE41' AS TEXT), 'a')"
    path = made(
        tmp_path,
        f"PRAGMA encoding = '{encoding}'",
        "CREATE TABLE t (u TEXT, i TEXT)",
        f"INSERT INTO t VALUES {rows}",
    )
    found = all_counts(table(path, user="u", table="t"), question("i"))
    assert found[("é",)] == 2
    assert found[("a",)] == (1 if encoding == "UTF-8" else 2)


def test_a_view_is_read_and_rows_pass_a_predicate(tmp_path: Path) -> None:
    view = 'CREATE VIEW some AS SELECT "user", page FROM visits WHERE "user" > 1'
    path = made(tmp_path, VISITS, "INSERT INTO visits VALUES (1, 'a'), (2, 'a'), (2, 'b'), (3, 'b')", view)
    rows = table(path, user="user", table="some")
    assert all_counts(rows, question("page")) == {("a",): 1, ("b",): 2}
    assert all_counts(rows, question("page", where='"user" = 3')) == {("b",): 1}


def test_a_database_that_is_written_to_meanwhile_is_read_as_it_was(tmp_path: Path) -> None:
    path = made(tmp_path, "PRAGMA journal_mode = WAL", VISITS, "INSERT INTO visits VALUES (1, 'a')")
    rows = table(path, user="user", table="visits")
    checked = rows.rows(question("page"))
    with closing(sqlite3.connect(path)) as writer, rows.world(checked) as world:
        writer.execute("INSERT INTO visits VALUES (2, 'a')")
        assert world.answer('SELECT COUNT(*) AS "n" FROM "unlisted_source"')["n"].to_pylist() == [1]
        writer.commit()
    assert all_counts(rows, question("page")) == {("a",): 2}


def test_a_schema_that_changes_after_the_question_was_checked_fails_it(tmp_path: Path) -> None:
    path = made(tmp_path, VISITS, "INSERT INTO visits VALUES (1, 'a')")
    rows = table(path, user="user", table="visits")
    checked = rows.rows(question("page"))
    made(tmp_path, "ALTER TABLE visits ADD COLUMN more")
    with pytest.raises(ChargedFailureError), rows.world(checked) as world:
        world.answer('SELECT COUNT(*) AS "n" FROM "unlisted_source"')


def test_a_user_s_column_that_comes_to_ignore_case_is_refused_from_then_on(tmp_path: Path) -> None:
    path = made(tmp_path, 'CREATE TABLE t ("user" TEXT, page TEXT)')
    rows = table(path, user="user", table="t")
    rows.require_user()
    made(tmp_path, "DROP TABLE t", 'CREATE TABLE t ("user" TEXT COLLATE NOCASE, page TEXT)')
    with pytest.raises(InvalidArgumentError, match="treats different texts as the same"):
        rows.require_user()


def test_nothing_is_written_and_what_is_no_database_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path, VISITS)
    before = path.read_bytes()
    for source, keywords, said in (
        (path, {}, "Say which"),
        (path, {"table": "x"}, "The tables are: visits"),
        (path, {"table": "visits", "types": {"x": "int"}}, "The columns are: user, page"),
        (path, {"table": "visits", "types": {"page": "decimal"}}, "what a column of the table holds"),
        (path, {"table": "visits", "sep": ";"}, "left out for a SQLite file"),
        (tmp_path / "none.sqlite", {"table": "x"}, "no such file"),
        (f"sqlite:///{path}", {"table": "x"}, "Name the file itself"),
    ):
        with pytest.raises(InvalidArgumentError, match=said):
            table(source, user="user", **keywords).columns()
    (tmp_path / "rubbish.sqlite").write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(InvalidArgumentError, match="no SQLite database"):
        table(tmp_path / "rubbish.sqlite", user="user", table="x").columns()
    assert path.read_bytes() == before


def test_a_database_whose_name_says_no_more_is_told_by_its_first_bytes(tmp_path: Path) -> None:
    path = made(tmp_path, VISITS, name="shop.db")
    assert table(path, user="user", table="visits").columns()["page"] is ColumnType.TEXT
