"""PipelineDP's private histogram of a Parquet file, from file to released table, in its own environment.

usage: pipelinedp_local.py FILE.parquet

Its local backend, with the noise of the count deciding who appears (post-aggregation thresholding), which is the
same algorithm as ours and spends the budget once.
"""

from __future__ import annotations

import sys
from operator import itemgetter

import pipeline_dp as pdp
import pyarrow.parquet as pq

ITEMS_PER_USER = 10
EPSILON, DELTA = 1.0, 1e-8


def main(path: str) -> None:
    table = pq.read_table(path, columns=["user", "item"])
    rows = list(zip(table["user"].to_pylist(), table["item"].to_pylist(), strict=True))
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    params = pdp.AggregateParams(
        metrics=[pdp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pdp.NoiseKind.GAUSSIAN,
        max_partitions_contributed=ITEMS_PER_USER,
        max_contributions_per_partition=1,
        partition_selection_strategy=pdp.PartitionSelectionStrategy.GAUSSIAN_THRESHOLDING,
        post_aggregation_thresholding=True,
    )
    columns = pdp.DataExtractors(
        privacy_id_extractor=itemgetter(0),
        partition_extractor=itemgetter(1),
        value_extractor=lambda _row: 0,
    )
    answer = engine.aggregate(rows, params, columns)
    accountant.compute_budgets()
    released = sorted(answer, key=lambda row: (-row[1].privacy_id_count, row[0]))
    print(f"{len(released)} rows released")


if __name__ == "__main__":
    main(sys.argv[1])
