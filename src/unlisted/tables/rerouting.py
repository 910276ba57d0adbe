"""What labels weigh that give weight back, and how much they give: the statement, and its expressions."""

# ruff: noqa: S608 - statements are made of quoted names and whole numbers

from __future__ import annotations

from unlisted.counts.bounded_counts import LARGEST_COUNT
from unlisted.counts.weights import HEAVIEST, SHARES, Rerouting
from unlisted.tables.items import ItemColumn, keys_of

WEIGHTS = "unlisted_weights"
"""What the items of a user with n of them weigh, as `weighing.py` lends it."""


def adaptive_query(items: tuple[ItemColumn, ...], kept: str, rerouting: Rerouting) -> str:
    """Return the query for labels and their weights `n`, those with enough giving back.

    Of a label, `own` is what cannot be given back, `even` what can, and of that `back` the parts of SHARES that
    are. A user `gets` so many parts of an even weight, all labels together; of these each label gains its share.
    """
    keys = keys_of(items)
    return f"""
WITH "users" AS MATERIALIZED ({sizes_with_weights(kept)}),
"labels" AS MATERIALIZED (
    SELECT {keys}, "own", "even", {given_back(rerouting)} AS "back" FROM (
        SELECT {keys}, SUM(CAST("full" - "even" AS HUGEINT)) AS "own", SUM(CAST("even" AS HUGEINT)) AS "even"
        FROM "{kept}" JOIN "users" ON "u" = "v" GROUP BY {keys}
    ) AS "sums"
),
"givers" AS (SELECT {keys}, "back" FROM "labels" WHERE "back" > 0),
"getting" AS (
    SELECT "u" AS "w", CAST(SUM("back") AS HUGEINT) AS "gets"
    FROM "{kept}" JOIN "givers" USING ({keys}) GROUP BY "u"
),
"gifts" AS (
    SELECT "w", CAST("even" AS HUGEINT) * "gets" AS "gift"
    FROM "getting" JOIN "users" ON "w" = "v" WHERE "even" > 0
),
"gains" AS (SELECT {keys}, SUM("gift") AS "gain" FROM "{kept}" JOIN "gifts" ON "u" = "w" GROUP BY {keys})
SELECT {keys}, {adapted(rerouting)} AS "n" FROM "labels" LEFT JOIN "gains" USING ({keys})""".strip()


def sizes_with_weights(kept: str) -> str:
    """Return the query for what each item of a user weighs, from how many the user has."""
    sizes = f'SELECT "u" AS "v", COUNT(*) AS "c" FROM "{kept}" GROUP BY "u"'
    return f'SELECT "v", "full", "even" FROM ({sizes}) AS "sizes" JOIN "{WEIGHTS}" ON "c" = "n"'


def adapted(rerouting: Rerouting) -> str:
    """Return the weight of a label from `own`, `even`, `back` and `gain`, rounded once.

    That is own + (even·(SHARES - back) + gain/spread) / SHARES. No number on the way has more than 38 digits if
    there are fewer than 2^33 users. What is divided is capped before, so that the quotient fits into 64 bits.
    """
    parts = SHARES * rerouting.spread
    stays = f'"even" * {rerouting.spread} * ({SHARES} - "back") + COALESCE("gain", 0)'
    return capped(f'"own" + LEAST({stays}, {LARGEST_COUNT * parts}) // {parts}')


def given_back(rerouting: Rerouting) -> str:
    """Return how many of SHARES parts of the even weight a label gives back.

    All that is divided or multiplied is known to floating point exactly, and SHARES is a power of two: the only
    rounding is the division's, which is the same wherever numbers are those of IEEE 754.
    """
    even = f'CAST(LEAST("even", {HEAVIEST}) AS BIGINT)'
    part = f"CAST({even} - {rerouting.enough} AS DOUBLE) / CAST({even} AS DOUBLE)"
    back = f"CAST(FLOOR({part} * {SHARES}) AS BIGINT)"
    return f'CASE WHEN "even" <= {rerouting.enough} THEN 0 ELSE {back} END'


def capped(weight: str) -> str:
    """Return a weight that fits into 64 bits."""
    return f"CAST(LEAST({weight}, {LARGEST_COUNT}) AS BIGINT)"


FULL = capped('SUM(CAST("full" AS HUGEINT))')
"""What labels weigh if nothing is given back."""
