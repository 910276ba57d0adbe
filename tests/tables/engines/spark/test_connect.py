"""Spark Connect: a data frame of a remote session counts as one of a session in this process."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.conftest import missing
from tests.services import spark

# In a process of its own: a process is either a client of a remote Spark or runs one itself.
SCRIPT = """
    import sys
    import pyarrow as pa
    sys.path.insert(0, sys.argv[1])
    from tests.services.foreign_warnings import warnings_of_others
    from tests.services.spark import SETTINGS
    from tests.tables import reference
    from tests.tables.fixtures.asked import SECRET, all_counts, question, top_counts
    from unlisted.tables.table import table
    from pyspark.sql import SparkSession

    with warnings_of_others():
        builder = SparkSession.builder.remote("local[2]").config("spark.connect.grpc.binding.address", "127.0.0.1")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value) if name != "spark.master" else builder
        session = builder.getOrCreate()
    rows = pa.table({"who": [n % 7 for n in range(90)], "what": [f"i{n * n % 11}" for n in range(90)]})
    remote = table(session.createDataFrame(rows), user="who")
    asked = question("what", where="who < 6")
    pairs = reference.pairs(rows.to_pylist(), "who", ("what",), where=lambda row: row["who"] < 6)
    expected = reference.counts(reference.bounded(pairs, 3, SECRET, reference.sha256))
    assert all_counts(remote, asked) == expected != {}
    assert top_counts(remote, asked, fetch=2) == reference.top(expected, 3)
    assert session.catalog.listTables() == []
    session.stop()
    print("counted")
"""


@pytest.mark.long
def test_a_frame_of_a_remote_session_is_counted_where_it_is() -> None:
    if (reason := spark.why_not()) is not None:
        missing(reason)
    if importlib.util.find_spec("grpc") is None:
        missing("Spark Connect is not installed (pip install 'pyspark[connect]')")
    root = str(Path(__file__).parents[4])
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT), root]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.stdout.endswith("counted\n"), ran.stderr[-2000:]
