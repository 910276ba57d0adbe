"""A real Spark in this process for the tests: two cores, the smallest settings, reachable from nowhere else."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.services.foreign_warnings import warnings_of_others

SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "unlisted-tests",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # For queries of a few rows, compiling them well takes longer than running them badly.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def why_not() -> str | None:
    """Return what is missing for Spark to run here, or None."""
    if importlib.util.find_spec("pyspark") is None:
        return "Spark is not installed (pip install pyspark)"
    home = os.environ.get("JAVA_HOME")
    if not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
        return "Spark needs a Java runtime, 17 or newer: a `java` on the PATH, or JAVA_HOME"
    return None


@contextmanager
def running_session(folder: Path, settings: Mapping[str, str] = SETTINGS) -> Iterator[Any]:
    """Start Spark with its files in `folder`, yield the session, stop it."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in {
        **settings,
        "spark.sql.warehouse.dir": str(folder),
        "spark.local.dir": str(folder),
    }.items():
        builder = builder.config(name, value)
    with warnings_of_others():
        session = builder.getOrCreate()
    # Spark logs each failed task with the row's text; the tests make tasks fail on purpose.
    session.sparkContext.setLogLevel("OFF")
    try:
        yield session
    finally:
        session.stop()
