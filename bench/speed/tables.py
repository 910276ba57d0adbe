"""From rows in a Parquet file to an answer: against DuckDB's plain queries, and against the peers.

usage: python -m bench.speed.tables [--skip-peers] [--w1-only] [--w2-peers]

Four questions. What does privacy cost on top of a plain `GROUP BY`? On top of a plain top 1001? How long do the
peers take for the same histogram, as whole processes? How long is it from the shell to the first answer?

Every side runs in a fresh process, all of a section in turn. The peers on W2 take minutes a round, so they run
when asked for, once. A target holds if it holds both by the clock on the wall and in processor time; the worse of
the two is printed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.data import W1, W2, Workload
from bench.measure import (
    Target,
    Whole,
    interleaved,
    print_header,
    print_table,
    times,
    told_by,
    whole_processes,
)
from bench.peers import OPENDP, PIPELINEDP
from bench.speed import startup
from bench.speed.table_sides import DELTA, EPSILON, FETCH, ITEMS_PER_USER, K

ROUNDS = 5
PEER_ROUNDS = {W1: 3, W2: 1}
PEERS = {
    "OpenDP": (OPENDP, "opendp_polars.py"),
    "PipelineDP": (PIPELINEDP, "pipelinedp_local.py"),
}
OURS = "unlisted"
SIDES = Path(__file__).with_name("table_sides.py")


def side(name: str, workload: Workload) -> list[str]:
    return [sys.executable, str(SIDES), name, str(workload.path)]


def told(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, Whole]:
    """Run sides that measure themselves in turn: what they say leaves out their imports."""

    def named(name: str, command: Sequence[str]) -> Callable[[], dict[str, float]]:
        once = told_by(command)
        return lambda: {f"{name}, {part}": value for part, value in once().items()}

    medians = interleaved([named(name, command) for name, command in commands.items()], rounds)
    parts = ("seconds", "processor_seconds", "peak_bytes")
    return {name: Whole(**{part: medians[f"{name}, {part}"] for part in parts}) for name in commands}


def ratios(one: Whole, other: Whole) -> dict[str, float]:
    """Return how many times as long one took as another, by both clocks."""
    return {
        "on the wall": one.seconds / other.seconds,
        "in processor time": one.processor_seconds / other.processor_seconds,
    }


def print_sides(took: Mapping[str, Whole], base: str) -> None:
    """Print what each side took, and its ratios to one of them."""
    rows = [
        [
            name,
            f"{one.seconds:.2f} s",
            f"{one.processor_seconds:.2f} s",
            *map(times, ratios(one, took[base]).values()),
            f"{one.peak_bytes / 1e6:,.0f} MB",
        ]
        for name, one in took.items()
    ]
    print_table(("", "wall", "processor", "wall ratio", "processor ratio", "peak memory"), rows)


def against_plain(what: str, workloads: Sequence[Workload], bound: float, rounds: int = ROUNDS) -> None:
    """Compare an answer with DuckDB's plain one; the target is for W2, where starting up no longer counts."""
    for workload in workloads:
        took = told({"plain": side(f"plain_{what}", workload), OURS: side(what, workload)}, rounds)
        print(f"{workload.name}: {workload.rows:,} rows, {workload.users:,} users")
        print_sides(took, "plain")
        if workload is W2:
            measured = ratios(took[OURS], took["plain"])
            claim = f"{what} at most {times(bound)} plain DuckDB on W2"
            print(Target(claim, bound, at_most=True, measured=measured).verdict(), "\n")


def against_peers(workload: Workload, bound: float) -> None:
    """Compare whole processes, imports and all; peers must take at least so many times as long."""
    present = {
        name: peer.command(script, workload.path) for name, (peer, script) in PEERS.items() if peer.is_there
    }
    took = whole_processes({OURS: side("histogram", workload), **present}, PEER_ROUNDS[workload])
    print(f"{workload.name}, whole processes")
    print_sides(took, OURS)
    claim = f"at least {times(bound)} faster on {workload.name} than"
    for name in PEERS:
        measured = ratios(took[name], took[OURS]) if name in took else {}
        print(Target(f"{claim} {name}", bound, at_most=False, measured=measured).verdict())
    print()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed.tables", description=__doc__.splitlines()[0])
    parser.add_argument("--skip-peers", action="store_true", help="leave the peers out")
    parser.add_argument("--w1-only", action="store_true", help="leave the ten million rows out")
    parser.add_argument("--w2-peers", action="store_true", help="also the peers on ten million rows: minutes")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    workloads = (W1,) if chosen.w1_only else (W1, W2)
    # In a process of its own: the peak memory of a child begins at that of whoever starts it.
    subprocess.run([sys.executable, "-m", "bench.data"], stdout=subprocess.DEVNULL, check=True)
    print_header("How long is it from rows to a private answer?", ("duckdb", "numpy", "pyarrow"))
    print(
        f"(a) A histogram, {ITEMS_PER_USER} items a user, ε = {EPSILON}, δ = {DELTA}, and plain COUNT(DISTINCT)\n"
    )
    against_plain("histogram", workloads, 2.5)
    print(f"(b) The top {K} of the {FETCH:,} largest counts, and the plain {FETCH + 1:,} largest\n")
    against_plain("top", workloads, 1.3)
    if not chosen.skip_peers:
        print("(c) The same histogram from the peers\n")
        against_peers(W1, 5)
        if chosen.w2_peers:
            against_peers(W2, 7)
        else:
            print("not measured: the peers on W2, which takes minutes (--w2-peers)\n")
    print("(d) From the shell to the first answer\n")
    startup.main()


if __name__ == "__main__":
    main()
