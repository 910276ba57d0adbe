"""An empty round is a round, in whatever form it comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.streams.brooks import quiet_brook, rows_of, shown

import unlisted as ul

TYPED = pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())})
UNTYPED = pa.table({"user": [], "item": []})
FORMS: dict[str, Callable[[Path], Any]] = {
    "None": lambda _: None,
    "no counts": lambda _: {},
    "no bounded counts": lambda _: ul.BoundedCounts([], [], ul.Sensitivity(1)),
    "a list": lambda _: [],
    "no rows": lambda _: TYPED,
    "no rows, no types": lambda _: UNTYPED,
    "no columns": lambda _: pa.table({}),
    "a reader": lambda _: UNTYPED.to_reader(),
    "a named table": lambda _: ul.table(UNTYPED, user="user"),
    "only NULL": lambda _: pa.table({"user": [None], "item": [None]}),
    "pandas": lambda _: pd.DataFrame({"user": [], "item": []}),
    "pandas, no columns": lambda _: pd.DataFrame(),
    "polars": lambda _: pl.DataFrame({"user": [], "item": []}),
    "polars, no columns": lambda _: pl.DataFrame(),
    "an empty CSV file": lambda folder: written(folder / "a.csv", ""),
    "a CSV file of one line": lambda folder: written(folder / "b.csv", "user,item\n"),
    "an empty file of JSON lines": lambda folder: written(folder / "a.jsonl", ""),
    "a Parquet file": lambda folder: as_parquet(folder / "a.parquet", TYPED),
    "a Parquet file, no types": lambda folder: as_parquet(folder / "b.parquet", UNTYPED),
}
KINDS: dict[str, dict[str, Any]] = {
    "events": {"unit": "event"},
    "users once": {"unit": "user", "items_per_user": 3},
    "users in rounds": {"unit": "user", "rounds_per_user": 20},
}


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def as_parquet(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize("kind", [*KINDS])
def test_nothing_is_a_round_in_every_form(tmp_path: Path, kind: str) -> None:
    stream = quiet_brook(tmp_path / "s", rounds=2 + len(FORMS), threshold=5, **KINDS[kind])
    stream.push(rows_of(*[(user, "a") for user in range(20)]))
    for name, form in FORMS.items():
        assert shown(stream.push(form(tmp_path))) == [("a", 20)], name
    # Whatever it came as, it is known again as any other.
    for number, form in enumerate(reversed(FORMS.values()), start=2):
        assert shown(stream.push(form(tmp_path), number=number)) == [("a", 20)]
    assert stream.round == 1 + len(FORMS)
