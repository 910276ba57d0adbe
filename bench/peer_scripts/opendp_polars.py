"""OpenDP's private histogram of a Parquet file, from file to released table, in its own environment.

usage: opendp_polars.py FILE.parquet

Its documented way over unknown keys: the Polars context with a user identifier, truncated per user, a noisy
length per group, and a threshold that it sets itself from δ.
"""

from __future__ import annotations

import sys

import opendp.prelude as dp
import polars as pl

ITEMS_PER_USER = 10
EPSILON, DELTA = 1.0, 1e-8


def main(path: str) -> None:
    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier="user"),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
    )
    query = (
        context.query()
        # Rows of one user and item are all alike, so keeping the first spares a shuffle and loses nothing.
        .truncate_per_group(1, by=["item"], keep="first")
        .truncate_per_group(ITEMS_PER_USER)
        .group_by("item")
        .agg(dp.len(signed=True))
    )
    released = query.release().collect().sort("len", "item", descending=[True, False])
    print(f"{len(released)} rows released")


if __name__ == "__main__":
    main(sys.argv[1])
