"""Arrow IPC files, Feather among them: both formats, compressed or not, with dictionaries and strange values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pytest
from tests.tables.fixtures.asked import all_counts, question

from unlisted.errors import InvalidArgumentError
from unlisted.tables.table import table

ROWS = pa.table(
    {
        "user": [1, 2, 3],
        "item": pa.array(["a", "a", "b"]).dictionary_encode(),
        "price": [1.5, float("nan"), 1.5],
        "list": [[1], [2], None],
    }
)


@pytest.mark.parametrize("ending", [".arrow", ".ipc", ".arrows"])
@pytest.mark.parametrize("make", [pa.ipc.new_file, pa.ipc.new_stream], ids=["file", "stream"])
def test_both_formats_are_read(tmp_path: Path, ending: str, make: Any) -> None:
    path = tmp_path / f"rows{ending}"
    with make(path, ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=1)
    source = table(path, user="user")
    assert [kind.value for kind in source.columns().values()] == ["int", "text", "float", "other"]
    assert all_counts(source, question("item")) == {("a",): 2, ("b",): 1}
    assert all_counts(source, question("price")) == {(1.5,): 2}
    assert all_counts(source, question("item", where="list IS NULL")) == {("b",): 1}


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_feather_is_read(tmp_path: Path, compression: str) -> None:
    pyarrow.feather.write_feather(ROWS, tmp_path / "rows.feather", compression=compression)
    assert all_counts(table(tmp_path / "rows.feather", user="user"), question("item")) == {("a",): 2, ("b",): 1}


def test_each_batch_of_a_stream_may_bring_its_own_dictionary(tmp_path: Path) -> None:
    first, second = (pa.array(items).dictionary_encode() for items in (["a", "b"], ["b", "c"]))
    schema = pa.schema({"user": pa.int64(), "item": first.type})
    with pa.ipc.new_stream(tmp_path / "rows.arrows", schema) as writer:
        writer.write_batch(pa.record_batch([pa.array([1, 2]), first], schema=schema))
        writer.write_batch(pa.record_batch([pa.array([3, 4]), second], schema=schema))
    counts = all_counts(table(tmp_path / "rows.arrows", user="user"), question("item"))
    assert counts == {("a",): 1, ("b",): 2, ("c",): 1}


def test_files_of_different_columns_are_refused(tmp_path: Path) -> None:
    for name, columns in {"1": ["user", "item"], "2": ["user", "price"]}.items():
        pyarrow.feather.write_feather(ROWS.select(columns), tmp_path / f"{name}.feather")
    with pytest.raises(InvalidArgumentError, match="different columns or types"):
        table(tmp_path, user="user").columns()


def test_what_is_no_arrow_file_is_refused_without_quoting_it(tmp_path: Path) -> None:
    (tmp_path / "rows.arrow").write_bytes(b"the private words of a row" * 10)
    with pytest.raises(InvalidArgumentError, match="not an Arrow IPC file") as refused:
        table(tmp_path / "rows.arrow", user="user").columns()
    assert "private" not in str(refused.value)
