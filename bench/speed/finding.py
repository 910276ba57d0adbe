"""A histogram without a bound, from rows in a Parquet file to the answer, against DuckDB's plain query.

usage: python -m bench.speed.finding [--w1-only]

Values are found first, in three rounds, and then counted over all their users. Both sides run in fresh processes,
in turn, as in `tables.py`; it takes long, so three times each. Then the memory that is held outside the
engine, once each, against a histogram with a bound.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from bench.data import W1, W2, Workload
from bench.measure import Target, print_header, print_table, times
from bench.scale.runs import answered
from bench.speed.table_sides import DELTA, EPSILON, ITEMS_PER_USER
from bench.speed.tables import against_plain

MOST, TIMES = 4, 3
MOST_OUTSIDE = 1.25
BOUNDED = f"histogram, {ITEMS_PER_USER} items a user"


def outside(workload: Workload) -> None:
    """Say how much memory is held outside the engine, as `scale/one_answer.py` counts it."""
    asked = {"find": {}, BOUNDED: {"items_per_user": ITEMS_PER_USER}}
    took = {name: answered(workload.path, {"question": "histogram", **how}) for name, how in asked.items()}
    print(f"{workload.name}: memory outside the engine")
    print_table(("", "outside"), [[name, f"{one.outside_bytes / 1e6:,.0f} MB"] for name, one in took.items()])
    claim = (
        f"find holds at most {times(MOST_OUTSIDE)} outside the engine, on {workload.name}, of a bounded histogram"
    )
    ratio = {"peaks added up": took["find"].outside_bytes / took[BOUNDED].outside_bytes}
    print(Target(claim, MOST_OUTSIDE, at_most=True, measured=ratio).verdict())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.finding", description=__doc__.splitlines()[0])
    parser.add_argument("--w1-only", action="store_true", help="leave the ten million rows out")
    workloads = (W1,) if parser.parse_args().w1_only else (W1, W2)
    # In a process of its own: the peak memory of a child begins at that of whoever starts it.
    subprocess.run([sys.executable, "-m", "bench.data"], stdout=subprocess.DEVNULL, check=True)
    print_header("How long does it take to find values and count them?", ("duckdb", "numpy", "pyarrow"))
    print(f"ε = {EPSILON}, δ = {DELTA}, no bound on the items of a user, and plain COUNT(DISTINCT)\n")
    against_plain("find", workloads, MOST, TIMES)
    outside(workloads[-1])


if __name__ == "__main__":
    main()
