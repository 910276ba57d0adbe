"""A database in memory that is lent again: nothing of one question is there in the next."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from unlisted.tables.engines.duckdb import databases
from unlisted.tables.engines.duckdb.databases import MEMORY_LIMIT, database


@pytest.fixture(autouse=True)
def _no_spare() -> None:
    databases.forget()


def lend() -> Path:
    with database(is_lent=True) as (connection, folder):
        connection.execute("SELECT 1")
        return folder


def test_the_same_database_is_lent_again() -> None:
    assert lend() == lend()


def test_tables_and_settings_of_one_question_are_gone_in_the_next() -> None:
    with database(is_lent=True) as (connection, folder):
        connection.execute("CREATE TEMPORARY TABLE unlisted_bounded AS SELECT 42 AS secret")
        connection.register("lent", connection.sql("SELECT 1 AS x").to_arrow_table())
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
    with database(is_lent=True) as (connection, again):
        assert again == folder
        for name in ("unlisted_bounded", "lent"):
            with pytest.raises(duckdb.CatalogException):
                connection.execute(f"FROM {name}")
        assert connection.execute("SELECT COUNT(*) FROM duckdb_tables()").fetchone() == (0,)
        assert connection.execute("SELECT current_setting('TimeZone')").fetchone() != ("Asia/Tokyo",)


def test_two_questions_at_once_have_two_databases() -> None:
    with database(is_lent=True) as (_, one), database(is_lent=True) as (_, other):
        assert one != other


def test_after_a_failure_it_is_thrown_away() -> None:
    with pytest.raises(duckdb.Error), database(is_lent=True) as (connection, folder):
        connection.execute("SELECT error('no')")
    assert not folder.exists()
    assert lend() != folder


def test_what_lies_on_the_disk_is_not_lent_again() -> None:
    with database(is_lent=True) as (_, folder):
        (folder / "spilled").write_text("rows")
    assert not folder.exists()
    assert lend() != folder


def test_a_limit_of_memory_holds_from_the_next_question_on(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lend()
    monkeypatch.setenv(MEMORY_LIMIT, "100MB")
    with database(is_lent=True) as (connection, other):
        assert other != folder
        assert connection.execute("SELECT current_setting('memory_limit')").fetchone() == ("95.3 MiB",)


def test_files_are_read_in_a_database_of_their_own() -> None:
    folder = lend()
    with database(is_lent=False) as (_, other):
        assert other != folder
    assert not other.exists()
    assert lend() == folder


def test_untrusted_optimisations_are_off_when_it_is_lent_again() -> None:
    lend()
    with database(is_lent=True) as (connection, _):
        (said,) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchone() or ("",)
    assert set(said.split(",")) <= set(databases.UNTRUSTED)
    assert "statistics_propagation" in said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_process_that_forks_leaves_none_behind() -> None:
    program = """
import os, sys, pyarrow as pa, unlisted as ul
from unlisted.tables.engines.duckdb import databases
def ask():
    with databases.database(is_lent=True) as (connection, folder):
        connection.execute("SELECT SUM(range) FROM range(1000000)").fetchone()
        return folder
folder = ask()
assert folder.exists()
child = os.fork()
mine = ask()
assert mine != folder and not folder.exists()
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(mine)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert not Path(done.stdout.strip()).exists(), "removed when the process ends"
