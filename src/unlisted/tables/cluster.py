"""What a cluster does otherwise: no machine gets all of one user, or all labels of one count.

**Users of very many items** are thinned out before they are bounded.

A cluster compares a user's pairs by bringing them to one machine. For most users that is nothing; a robot with
fifty million items would be the work of one machine while the others wait. Such users, the giants, are few,
because their items are many: their names fit on every machine. So a giant's pairs are spread over buckets by the
first digits of their keys, and each bucket, on whichever machine it is, gives up all but its N + 1 smallest keys.
What is left, at most 256 · (N + 1) pairs, goes the way of everybody else's.

Most tables have no giants and should not pay for them. So giants are looked for in a step of their own, and an
engine that finds none may leave out whatever hangs on them; which way was taken shows in nothing that leaves.

Nothing changes in what a user keeps. A pair is kept if at most N of the user's keys are at or below its own, and
let P be all pairs, S those left in the buckets. A pair that is kept out of P has its at most N keys at or below in
S, for none of them is beyond the N-th place of its bucket; so it is kept out of S. A pair of S that is not kept
out of P has more than N keys of P at or below its own. If all of them are in S, it is not kept out of S. If one is
not, N + 1 others of its bucket are at or below that one, and they are in S; so it is not kept out of S either.
That holds with ties too, however a bucket chooses among equal keys.

**Labels by their rank.** To know who is the millionth of those with a count of 1, a cluster would bring all of
them to one machine and sort them there, and most labels of a large table have a count of 1. So the labels of a
count are spread over buckets by a hash. How many there are in each is a short list, and says in which bucket, and
where in it, a rank is to be found; the buckets are sorted wherever they are.

Ranks are then in the order of buckets, and of labels within. Any order will do that the draws have no part in.
"""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from dataclasses import dataclass

from unlisted.tables.engines.engine import Columnar, ManyMachines
from unlisted.tables.items import ItemColumn, keys_of

BUCKET_DIGITS = 2
BUCKETS = 16**BUCKET_DIGITS


@dataclass(frozen=True)
class Thinning:
    """What the statement that bounds users has besides: nothing, where one machine does it all.

    `size` is a column that `heavy` needs, `clauses` go before `keyed`, `rest` is the relation of the pairs whose
    users are not thinned, and `thinned` adds what is left of the others to `keyed`.
    """

    size: str = ""
    clauses: str = ""
    rest: str = '"pairs"'
    thinned: str = ""


def thinning(engine: Columnar, counted: str, key: str, bound: int, pairs: str = '"pairs"') -> Thinning:
    """Return how an engine thins out users with very many items, of whom each keeps at most `bound`.

    `pairs` is the relation of all pairs, `counted` lists what a pair has beside its user, and `key` is its key.
    """
    if not isinstance(engine, ManyMachines):
        return Thinning(rest=pairs)
    # With fewer pairs than the buckets may keep, nothing would be saved.
    most = max(engine.giant, BUCKETS * (bound + 1))
    clauses = f"""
"giant" AS MATERIALIZED (SELECT "h" AS "g", "prefix" FROM "heavy" WHERE "c" > {most}),
"rest" AS (SELECT "u", {counted} FROM {pairs} WHERE NOT EXISTS (SELECT 1 FROM "giant" WHERE "g" = "u")),
"giants" AS (SELECT "u", {counted}, {key} AS "k" FROM {pairs} JOIN "giant" ON "u" = "g"),
"spread" AS (
    SELECT "u", {counted}, "k",
        ROW_NUMBER() OVER (PARTITION BY "u", LEFT("k", {BUCKET_DIGITS}) ORDER BY "k") AS "place"
    FROM "giants"
),"""
    thinned = f"""
    UNION ALL
    SELECT "u", {counted}, "k" FROM "spread" WHERE "place" <= {bound + 1}"""
    return Thinning(', COUNT(*) AS "c"', clauses, '"rest"', thinned)


def spread_fetch_query(items: tuple[ItemColumn, ...], kept: str, wanted: str) -> str:
    """Return the query for the labels at the wanted ranks of their counts, out of the counts that are kept."""
    hashed = " || ".join(item.text for item in items)
    order = ", ".join(name for item in items for name in item.order)
    labels = ", ".join(item.label for item in items)
    names = ", ".join(item.value for item in items)
    return f"""
WITH "tail" AS (
    SELECT {keys_of(items)}, "n", LEFT(SHA256({hashed}), {BUCKET_DIGITS}) AS "b"
    FROM "{kept}" WHERE "n" IN (SELECT "count" FROM "{wanted}")
),
"sizes" AS (SELECT "n" AS "of", "b" AS "bucket", COUNT(*) AS "size" FROM "tail" GROUP BY "n", "b"),
"ends" AS (
    SELECT "of", "bucket", "size", SUM("size") OVER (PARTITION BY "of" ORDER BY "bucket") AS "end" FROM "sizes"
),
"places" AS (
    SELECT "position", "of", "bucket", "at" - "end" + "size" AS "place"
    FROM "{wanted}" JOIN "ends" ON "count" = "of" AND "at" < "end" AND "at" >= "end" - "size"
),
"ranked" AS (
    SELECT {labels}, "n", "b", ROW_NUMBER() OVER (PARTITION BY "n", "b" ORDER BY {order}) - 1 AS "rank" FROM "tail"
)
SELECT "position", {names} FROM "ranked"
JOIN "places" ON "n" = "of" AND "b" = "bucket" AND "rank" = "place" """.strip()
