"""Warnings that libraries raise about each other: errors in the tests like all warnings, but not ours to mend."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

KNOWN: tuple[tuple[str, type[Warning]], ...] = (
    # Spark and Ibis' Spark backend import Spark's pandas bridge, which has not met pandas 3 yet.
    ("PySpark does not yet fully support pandas", FutureWarning),
    # Ibis asks DuckDB for a table's schema by a name that DuckDB has replaced.
    (r"fetch_arrow_table\(\) is deprecated", DeprecationWarning),
    # Ibis asks pandas for a setting that pandas 3 no longer needs.
    ("The 'future.infer_string' option is deprecated", DeprecationWarning),
)


@contextmanager
def warnings_of_others() -> Iterator[None]:
    """Let the known warnings pass, and no other."""
    with warnings.catch_warnings():
        for message, category in KNOWN:
            warnings.filterwarnings("ignore", message, category)
        yield
