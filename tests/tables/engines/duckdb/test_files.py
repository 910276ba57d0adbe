"""Where files are: folders, lists, globs that a shell has expanded, and columns in the names of folders."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import InvalidArgumentError
from unlisted.tables.table import source_name, table

DAYS = {"2025-11-30": ["a", "b"], "2025-12-01": ["b", "c"], "__HIVE_DEFAULT_PARTITION__": ["d"]}


def rows(users: list[str]) -> pa.Table:
    return pa.table({"user": users, "item": ["x"] * len(users)})


def as_json(given: pa.Table, path: Path) -> None:
    path.write_text("".join(f'{{"user": "{user}", "item": "x"}}\n' for user in given["user"].to_pylist()))


def as_latin(given: pa.Table, path: Path) -> None:
    path.write_bytes(
        b"user,item\n" + b"".join(f"{user},x\n".encode("latin-1") for user in given["user"].to_pylist())
    )


def as_tabs(given: pa.Table, path: Path) -> None:
    path.write_text("user\titem\n" + "".join(f"{user}\tx\n" for user in given["user"].to_pylist()))


WRITERS: dict[str, tuple[Callable[[pa.Table, Path], Any], dict[str, Any]]] = {
    ".parquet": (pyarrow.parquet.write_table, {}),
    ".csv": (pyarrow.csv.write_csv, {}),
    ".txt": (as_latin, {"encoding": "latin-1"}),
    ".tsv": (as_tabs, {}),
    ".jsonl": (as_json, {}),
    ".feather": (pyarrow.feather.write_feather, {}),
}


@pytest.fixture(params=WRITERS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str, dict[str, Any]]:
    """A folder of files in folders named after days, how they end, and how they are read."""
    write, how = WRITERS[request.param]
    for day, users in DAYS.items():
        folder = tmp_path / "visits" / f"day={day}"
        folder.mkdir(parents=True)
        write(rows(users), folder / f"part-0{request.param}")
    (tmp_path / "visits" / "_SUCCESS").touch()
    (tmp_path / "visits" / ".part-0.crc").touch()
    return tmp_path / "visits", request.param, how


def test_a_folder_is_the_files_in_it(written: tuple[Path, str, dict[str, Any]]) -> None:
    folder, ending, how = written
    for source in (folder, f"{folder}/", f"{folder}/*/*{ending}", sorted(map(str, folder.glob(f"*/*{ending}")))):
        opened = table(source, user="user", **how)
        assert list(opened.columns()) == ["user", "item", "day"]
        assert all_counts(opened, question("item")) == {("x",): 4}
        assert all_counts(opened, question("day")) == {("2025-11-30",): 2, ("2025-12-01",): 2}


def test_a_partition_can_be_declared_and_asked_about(written: tuple[Path, str, dict[str, Any]]) -> None:
    folder, _, how = written
    source = table(folder, user="user", types={"day": "date"}, **how)
    assert all_counts(source, question("day")) == {
        (datetime.date(2025, 11, 30),): 2,
        (datetime.date(2025, 12, 1),): 2,
    }
    asked = question("item", where="day > DATE '2025-11-30'")
    assert all_counts(source, asked) == {("x",): 2}
    assert all_counts(source, question("item", where="day IS NULL")) == {("x",): 1}


def test_a_partition_that_is_not_what_is_declared_drops_its_rows(tmp_path: Path) -> None:
    for year in ("2024", "many"):
        (tmp_path / f"year={year}").mkdir()
        pyarrow.parquet.write_table(rows(["a"]), tmp_path / f"year={year}" / "x.parquet")
    source = table(tmp_path, user="user", types={"year": "int"})
    assert all_counts(source, question("year")) == {(2024,): 1}
    assert all_counts(source, question("item", count="rows", rows_per_item=9)) == {("x",): 2}


def test_partitions_are_read_by_arrow_too(tmp_path: Path) -> None:
    """Where DuckDB cannot read a row: both ways give the same columns."""
    for day, text in (("1", b"x"), ("a b%2Fc", b"\xff")):
        (tmp_path / f"day={day}").mkdir()
        item = pa.Array.from_buffers(pa.string(), 2, pa.array([text, b"x"], pa.binary()).buffers())
        rows_of_day = pa.table({"user": ["a", day], "item": item})
        pyarrow.parquet.write_table(rows_of_day, tmp_path / f"day={day}" / "x.parquet")
    source = table(tmp_path, user="user")
    assert all_counts(source, question("item", "day")) == {("x", "1"): 2, ("x", "a b/c"): 1}


def test_a_column_of_the_files_goes_before_that_of_the_folders(tmp_path: Path) -> None:
    (tmp_path / "item=other").mkdir()
    pyarrow.parquet.write_table(rows(["a"]), tmp_path / "item=other" / "x.parquet")
    assert all_counts(table(tmp_path, user="user"), question("item")) == {("x",): 1}


def test_folders_of_different_keys_are_refused(tmp_path: Path) -> None:
    for key in ("day", "hour"):
        (tmp_path / f"{key}=1").mkdir()
        pyarrow.parquet.write_table(rows(["a"]), tmp_path / f"{key}=1" / "x.parquet")
    with pytest.raises(InvalidArgumentError, match="folders named key=value with other keys"):
        table(tmp_path, user="user").columns()


def test_types_of_columns_that_have_one_are_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(rows(["a"]), tmp_path / "x.parquet")
    with pytest.raises(
        InvalidArgumentError, match=re.escape("left out for a Parquet file. Its columns have their")
    ):
        table(tmp_path / "x.parquet", user="user", types={"item": "int"}).columns()


def test_files_are_named_once(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(rows(["a"]), tmp_path / "x.parquet")
    twice = [tmp_path / "x.parquet", str(tmp_path / "*.parquet")]
    counted = all_counts(table(twice, user="user"), question("item", count="rows", rows_per_item=9))
    assert counted == {("x",): 1}


def test_a_ledger_knows_a_list_by_its_files() -> None:
    assert source_name(["/data/a.csv"]) == source_name("/data/a.csv") == "/data/a.csv"
    assert source_name(["/data/a.csv", Path("/data/b.csv")]) == "/data/a.csv, /data/b.csv"
