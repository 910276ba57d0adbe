"""From the shell to the first answer on a tiny CSV file, against the least that such an answer needs.

usage: python -m bench.speed.startup

The least is a bare Python that imports DuckDB, PyArrow and NumPy and asks the same top-k of the same file, without
noise. What is compared is processor time, user and system: on a busy machine the clock on the wall tells about the
others.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench.measure import Target, print_header, print_table, times, whole_processes

ROUNDS = 15
BOUND = 2.0
PEOPLE = 300
DISHES = ("soup", "bread", "curry", "salad", "cake")

BARE = """
import sys
import duckdb, numpy, pyarrow
query = "SELECT dish, COUNT(DISTINCT user) AS n FROM read_csv(?, all_varchar = true) GROUP BY dish ORDER BY n DESC"
print(duckdb.connect().execute(query + " LIMIT 3", [sys.argv[1]]).fetchall())
"""
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


def tiny_csv(folder: Path) -> Path:
    """Write a few hundred rows of people and what they cooked."""
    path = folder / "tiny.csv"
    rows = (f"{user},{DISHES[user % number]}" for user in range(PEOPLE) for number in (1, 2, 3, 5))
    path.write_text("\n".join(["user,dish", *rows]) + "\n")
    return path


def main() -> None:
    print_header("How long is it from the shell to the first answer?", ("duckdb", "numpy", "pyarrow", "typer"))
    with tempfile.TemporaryDirectory() as folder:
        source = str(tiny_csv(Path(folder)))
        asked = ("--user", "user", "--item", "dish", "-k", "3", *BUDGET, "--format", "csv")
        took = whole_processes(
            {
                "bare": (sys.executable, "-c", BARE, source),
                "unlisted top": (sys.executable, "-m", "unlisted", "top", source, *asked),
            },
            ROUNDS,
        )
    bare = took["bare"]
    rows = [
        [name, f"{one.processor_seconds:.2f} s", times(one.processor_seconds / bare.processor_seconds)]
        for name, one in took.items()
    ]
    print_table(("process", "processor time", "ratio"), rows)
    ratio = took["unlisted top"].processor_seconds / bare.processor_seconds
    print(Target("at most 2x a bare import and its query", BOUND, at_most=True, measured={"top": ratio}).verdict())


if __name__ == "__main__":
    main()
