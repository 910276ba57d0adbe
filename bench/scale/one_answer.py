"""One answer in a process of its own: how long it took, and the memory it took, in all and outside the engine.

usage: python -m bench.scale.one_answer SOURCE HOW          HOW as JSON: what to ask; prints JSON

A source is a Parquet file, or the URL of a PostgreSQL database if HOW names a table. A server is a process of its
own, so there all memory that is measured is outside the engine. With the embedded engine, outside is what the
process held when counting began (Python and its libraries), and what was allocated from then on by Python and
NumPy, by Arrow, and for the answers that came out of the engine: the peaks of each, added up as if they had come
at one moment. The resident memory of the process would not tell there: the engine's allocator keeps what it has
freed.
"""

from __future__ import annotations

import json
import os
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401 - else its import would be timed, and so below
import pyarrow as pa
from bench.scale.peak import peak_bytes

import unlisted as ul
from unlisted.tables.engines.duckdb import engine


class Outside:
    """Adds up what is held outside the engine, from when it is asked for the first time."""

    def __init__(self) -> None:
        self._before = 0
        self._brought_out = 0
        self._watch()

    def peak(self) -> int:
        """Return the most that there can have been."""
        _, traced = tracemalloc.get_traced_memory()
        return self._before + traced + pa.default_memory_pool().max_memory() + self._brought_out

    def _watch(self) -> None:
        world = engine._World
        keep, answer = world.keep, world.answer

        def kept(one: Any, name: str, query: str) -> None:
            self._begin()
            keep(one, name, query)

        def answered(one: Any, query: str) -> pa.Table:
            self._begin()
            found = answer(one, query)
            self._brought_out += found.nbytes
            return found

        world.keep, world.answer = kept, answered  # type: ignore[method-assign]

    def _begin(self) -> None:
        if not self._before:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            self._before = pages * os.sysconf("SC_PAGE_SIZE")
            tracemalloc.start()


def ask(source: str, how: dict[str, Any]) -> int:
    """Ask one question of the rows, and return how many rows the answer has."""
    question, named, budget = how.pop("question"), how.pop("table", None), ul.Budget(epsilon=1, delta="1e-8")
    rows = ul.table(source, user="user", table=named)
    return len(getattr(rows, question)("item", budget=budget, **how).run())


def main(source: str, how: str) -> None:
    asked = json.loads(how)
    outside = None if "table" in asked else Outside()
    wall, processor = time.perf_counter(), time.process_time()
    released = ask(source, asked)
    peak = peak_bytes()
    report = {
        "seconds": time.perf_counter() - wall,
        "processor_seconds": time.process_time() - processor,
        "peak_bytes": peak,
        "outside_bytes": outside.peak() if outside else peak,
        "released": released,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
