"""Labels by their rank, where no machine of a cluster gets all labels of one count.

To know who is the millionth of those with a count of 1, a cluster would bring all of them to one machine and sort
them there, and most labels of a large table have a count of 1. So the labels of a count are spread over buckets by
a hash. How many there are in each is a short list, and says in which bucket, and where in it, a rank is to be
found; the buckets are sorted wherever they are.

Ranks are then in the order of buckets, and of labels within. Any order will do that the draws have no part in.
"""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from unlisted.tables.bounding import ItemColumn, keys_of

BUCKET_DIGITS = 2


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
