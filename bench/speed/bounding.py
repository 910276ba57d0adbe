"""How should a user's items be bounded in DuckDB, and with which hash? As ratios against a plain GROUP BY.

    python bench/speed/bounding.py [--rows 10000000] [--users 1000000] [--rounds 3]

Makes its own table (a fixed seed, Zipf items, rows spread evenly over users), then runs every formulation in turn,
several rounds, each in a fresh database, and prints the best wall and processor time of each, divided by those of
`SELECT item, COUNT(DISTINCT user) ... GROUP BY item`. "ours" is the statement that the package sends. The others
are the ways it could be said instead; those with the same hash give the same counts, which is checked.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

from unlisted.tables.bounding import bounded_counts
from unlisted.tables.count_query import CountQuery
from unlisted.tables.table import table

BOUND = 10
SECRET = bytes(range(16))
SAID = "AAECAwQFBgcICQoLDA0ODw"

PLAIN = "SELECT item, COUNT(DISTINCT who) AS n FROM source WHERE item IS NOT NULL GROUP BY item"
PAIRS = "SELECT DISTINCT who, item FROM source WHERE who IS NOT NULL AND item IS NOT NULL AND strlen(item) <= 1024"
PREFIX = f"'{SAID}' || strlen(CAST(who AS VARCHAR)) || ':' || CAST(who AS VARCHAR) || ':'"
HEAVY = f"SELECT who AS h, {PREFIX} AS prefix FROM pairs GROUP BY who HAVING COUNT(*) > {BOUND}"
LIGHT = "SELECT item FROM pairs WHERE NOT EXISTS (SELECT 1 FROM heavy WHERE h = who)"

KEYS = {
    "sha256": "left(sha256(prefix || item), 12)",
    "sha256 whole": "sha256(prefix || item)",
    "md5": "left(md5(prefix || item), 12)",
    "md5 as number": "md5_number_lower(prefix || item)",
    "native": "hash(prefix || item)",
}


def window(key: str) -> str:
    """Say it as a running count over each heavy user's keys, as the package does."""
    return f"""WITH pairs AS MATERIALIZED ({PAIRS}), heavy AS MATERIALIZED ({HEAVY}),
    keyed AS (SELECT who, item, {key} AS k FROM pairs JOIN heavy ON who = h),
    ranked AS (SELECT item, COUNT(*) OVER (PARTITION BY who ORDER BY k) AS r FROM keyed),
    kept AS ({LIGHT} UNION ALL SELECT item FROM ranked WHERE r <= {BOUND})
    SELECT item, COUNT(*) AS n FROM kept GROUP BY item"""


def joined_back(key: str) -> str:
    """Find the (N+1)-th smallest key of each heavy user by a list of the smallest, and join it back."""
    return f"""WITH pairs AS MATERIALIZED ({PAIRS}), heavy AS MATERIALIZED ({HEAVY}),
    keyed AS MATERIALIZED (SELECT who, item, {key} AS k FROM pairs JOIN heavy ON who = h),
    cut AS (SELECT who AS c, min(k, {BOUND + 1})[{BOUND + 1}] AS most FROM keyed GROUP BY who),
    kept AS ({LIGHT} UNION ALL SELECT item FROM keyed JOIN cut ON who = c WHERE k < most)
    SELECT item, COUNT(*) AS n FROM kept GROUP BY item"""


def numbered(key: str) -> str:
    """Find the (N+1)-th smallest key of each heavy user by numbering rows, and join it back."""
    return f"""WITH pairs AS MATERIALIZED ({PAIRS}), heavy AS MATERIALIZED ({HEAVY}),
    keyed AS MATERIALIZED (SELECT who, item, {key} AS k FROM pairs JOIN heavy ON who = h),
    numbers AS (SELECT who AS c, k AS most, row_number() OVER (PARTITION BY who ORDER BY k) AS r FROM keyed),
    cut AS (SELECT c, most FROM numbers WHERE r = {BOUND + 1}),
    kept AS ({LIGHT} UNION ALL SELECT item FROM keyed JOIN cut ON who = c WHERE k < most)
    SELECT item, COUNT(*) AS n FROM kept GROUP BY item"""


def smallest_lists(key: str) -> str:
    """Gather the smallest keys with their items as one list a user, and unfold it again."""
    return f"""WITH pairs AS MATERIALIZED ({PAIRS}), heavy AS MATERIALIZED ({HEAVY}),
    keyed AS (SELECT who, {{'k': {key}, 'item': item}} AS pair FROM pairs JOIN heavy ON who = h),
    lists AS (SELECT min(pair, {BOUND + 1}) AS smallest FROM keyed GROUP BY who),
    unfolded AS (SELECT unnest(smallest) AS pair, smallest[{BOUND + 1}].k AS most FROM lists),
    kept AS ({LIGHT} UNION ALL SELECT pair.item FROM unfolded WHERE pair.k < most)
    SELECT item, COUNT(*) AS n FROM kept GROUP BY item"""


def everybody(key: str) -> str:
    """Compute keys for all users, not only for those over the bound."""
    return f"""WITH pairs AS ({PAIRS}),
    keyed AS (SELECT item, who, {key.replace("prefix", PREFIX)} AS k FROM pairs),
    ranked AS (SELECT item, COUNT(*) OVER (PARTITION BY who ORDER BY k) AS r FROM keyed)
    SELECT item, COUNT(*) AS n FROM ranked WHERE r <= {BOUND} GROUP BY item"""


def make_rows(path: Path, rows: int, users: int) -> None:
    rng = np.random.default_rng(20240229)
    items = 1 / np.arange(1, users + 1) ** 1.1
    with duckdb.connect() as connection:
        who = rng.integers(0, users, rows)
        what = rng.choice(users, size=rows, p=items / items.sum())
        connection.register("made", {"who": who, "what": what})
        connection.execute(f"COPY (SELECT who, 'item ' || what AS item FROM made) TO '{path}' (FORMAT parquet)")


def measured(path: Path, query: str) -> tuple[float, float, tuple[int, int]]:
    """Run a query in a fresh database; return wall and processor seconds, and what it counted."""
    with duckdb.connect(config={"preserve_insertion_order": False}) as connection:
        connection.execute(f"CREATE VIEW source AS SELECT * FROM read_parquet('{path}')")
        wall, processor = time.perf_counter(), time.process_time()
        connection.execute(f"CREATE TEMPORARY TABLE counted AS {query}")
        spent = time.perf_counter() - wall, time.process_time() - processor
        labels, total = connection.execute("SELECT COUNT(*), SUM(n) FROM counted").fetchall()[0]
        return *spent, (labels, int(total))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--users", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        make_rows(path, chosen.rows, chosen.users)
        source, asked = table(path, user="who"), CountQuery(("item",), items_per_user=BOUND)
        ours = source.engine.statement(bounded_counts(source.engine, "who", asked, SECRET), source.rows(asked))
        sha256 = KEYS["sha256"]
        queries = {
            "plain GROUP BY": PLAIN,
            "ours": ours,
            **{f"window, {name}": window(key) for name, key in KEYS.items()},
            "k-th smallest joined back, sha256": joined_back(sha256),
            "k-th smallest joined back, native": joined_back(KEYS["native"]),
            "k-th by row number joined back, sha256": numbered(sha256),
            "k-th by row number joined back, native": numbered(KEYS["native"]),
            "lists of the smallest, sha256": smallest_lists(sha256),
            "window over everybody, sha256": everybody(sha256),
        }
        runs: dict[str, list[tuple[float, float, tuple[int, int]]]] = {name: [] for name in queries}
        for _ in range(chosen.rounds):
            for name, query in queries.items():
                runs[name].append(measured(path, query))
    for hashed in (", sha256", ", native"):
        counted = {runs[name][0][2] for name in queries if name.endswith(hashed)}
        if len(counted) != 1:
            raise SystemExit(f"formulations of one hash disagree: {counted}")
    best = {name: [min(run[at] for run in of) for at in (0, 1)] for name, of in runs.items()}
    print(f"{chosen.rows:,} rows, {chosen.users:,} users, at most {BOUND} items a user; multiples of the first")
    print(f"{'wall':>8}{'cpu':>8}")
    for name, (wall, processor) in best.items():
        first_wall, first_processor = best["plain GROUP BY"]
        print(f"{wall / first_wall:7.2f}x{processor / first_processor:7.2f}x  {name}  ({wall:.2f} s)")


if __name__ == "__main__":
    main()
