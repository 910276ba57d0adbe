"""Whether a table much larger than memory gets its answer, and how much memory that takes beside the engine.

usage: python -m bench.scale.duckdb_out_of_core [--rows 100000000] [--items 20000000 …] [--memory 4GB]

DuckDB is given so much memory and puts the rest on disk. A histogram of all rows must come, and the process must
hold less than 300 MB outside the engine, however many different items there are. With a hundred million rows each
number of items takes minutes and some ten gigabytes of disk.
"""

from __future__ import annotations

import argparse
from typing import Any

from bench.measure import Target, print_header, print_table
from bench.scale.rows import Rows, written
from bench.scale.runs import answered, keep_sizes, told

MOST_OUTSIDE = 300e6
ASKED = {"question": "histogram", "items_per_user": 10}


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--items", type=int, nargs="+", default=[20_000_000, 10_000_000, 1_000_000])
    parser.add_argument("--memory", default="4GB")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    print_header("Does a table larger than memory get its answer?", ("duckdb", "numpy", "pyarrow"))
    said: list[dict[str, Any]] = []
    for items in chosen.items:
        rows = Rows(chosen.rows, chosen.rows // 10, items)
        with written(rows) as path:
            took = answered(path, ASKED, chosen.memory)
            said.append(told(rows, took, memory=chosen.memory, file_bytes=path.stat().st_size))
        keep_sizes("out_of_core", said)
    print_table(
        ("items", "wall", "processor", "peak memory", "outside the engine"),
        [
            [
                f"{one['items']:,}",
                f"{one['seconds']:.0f} s",
                f"{one['processor_seconds']:.0f} s",
                f"{one['peak_bytes'] / 1e6:,.0f} MB",
                f"{one['outside_bytes'] / 1e6:,.0f} MB",
            ]
            for one in said
        ],
    )
    measured = {f"{one['items']:,} items": one["outside_bytes"] / MOST_OUTSIDE for one in said}
    claim = f"{chosen.rows:,} rows with {chosen.memory}, and at most 300 MB outside the engine"
    print(Target(claim, 1, at_most=True, measured=measured).verdict())


if __name__ == "__main__":
    main()
