"""Made-up rows (user, item) for the benchmarks: the same ones every time, written once to Parquet.

Both workloads look like what people type: a few items everybody has, a long tail that few have (Zipf), and users
of whom most have a handful of rows and some have hundreds. The tail matters because noise is paid per item, the
busy users because bounding is paid per user over the bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

FOLDER = Path(__file__).resolve().parents[1] / ".venvs" / "data"
"""Beside the peers' environments: made by the benchmarks, ignored by git, safe to delete."""

GENERATION = 1
"""Part of every file name; raise it when the rows change, so that no old file is taken for a new one."""

_SEED = 20230917
_ROWS_PER_GROUP = 1_000_000


@dataclass(frozen=True)
class Workload:
    """How many rows of how many users, over at most how many items."""

    name: str
    rows: int
    users: int
    items: int

    @property
    def path(self) -> Path:
        """Where its Parquet file is, or will be."""
        return FOLDER / f"{self.name}-{GENERATION}.parquet"


W1 = Workload("W1", rows=1_000_000, users=100_000, items=1_000_000)
W2 = Workload("W2", rows=10_000_000, users=1_000_000, items=10_000_000)


def parquet(workload: Workload) -> Path:
    """Return the workload's file, written now if it was not there."""
    if not workload.path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        unfinished = workload.path.with_suffix(".unfinished")
        with pq.ParquetWriter(unfinished, _SCHEMA) as writer:
            for part in _parts(workload):
                writer.write_table(part)
        unfinished.rename(workload.path)
    return workload.path


_SCHEMA = pa.schema([("user", pa.int64()), ("item", pa.string())])


def _parts(workload: Workload) -> Iterator[pa.Table]:
    rng = np.random.default_rng([_SEED, workload.rows, workload.users])
    for start in range(0, workload.rows, _ROWS_PER_GROUP):
        size = min(_ROWS_PER_GROUP, workload.rows - start)
        users = _users(rng, size, workload.users)
        yield pa.table([pa.array(users), _labels(zipf_ranks(rng, size, workload.items))], schema=_SCHEMA)


def _users(rng: np.random.Generator, size: int, users: int) -> NDArray[np.int64]:
    """Draw users whose activity falls off with the square root of their place: some are busy, none rules."""
    place = np.minimum((users * rng.random(size) ** 2).astype(np.int64), users - 1)
    # Names that say nothing of the place, so that no engine profits from rows that come nearly sorted.
    return place * 2_654_435_761 % 4_294_967_291


def zipf_ranks(rng: np.random.Generator, size: int, items: int) -> NDArray[np.int64]:
    """Draw ranks from 1 to `items` with probability close to 1/rank: the logarithm of the rank is uniform."""
    ranks: NDArray[np.int64] = np.floor(np.exp(rng.random(size) * np.log(items + 1))).astype(np.int64)
    return np.clip(ranks, 1, items)


def _labels(ranks: NDArray[np.int64]) -> pa.Array:
    # Multiplying by an odd number modulo 2^40 keeps labels distinct and of about one length, like hashed queries.
    scrambled = pa.array(ranks * 40_503_001 % 2**40)
    return pc.binary_join_element_wise("item ", scrambled.cast(pa.string()), "")


def main() -> None:
    for workload in (W1, W2):
        path = parquet(workload)
        print(f"{workload.name}: {workload.rows:,} rows, {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
