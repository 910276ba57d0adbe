-- users: bounded counts
WITH "pairs" AS MATERIALIZED (SELECT DISTINCT "u", "i0" FROM (SELECT "u", "i0" FROM (SELECT "user" AS "u", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "i0" FROM "unlisted_database"."main"."rows" AS "unlisted_source") AS "rows" WHERE "u" IS NOT NULL AND "i0" IS NOT NULL AND STRLEN("i0") <= 1024) AS "good"),
"heavy" AS MATERIALIZED (
    SELECT "u" AS "h", 'AAECAwQFBgcICQoLDA0ODw' || CAST(STRLEN(CAST("u" AS VARCHAR)) AS VARCHAR) || ':' || CAST("u" AS VARCHAR) || ':' AS "prefix" FROM "pairs" GROUP BY "u" HAVING COUNT(*) > 10
),
"keyed" AS (
    SELECT "u", "i0", HASH("prefix" || "i0") AS "k" FROM "pairs" JOIN "heavy" ON "u" = "h"
),
"ranked" AS (
    SELECT "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"
),
"kept" AS (
    SELECT "i0" FROM "pairs" WHERE NOT EXISTS (SELECT 1 FROM "heavy" WHERE "h" = "u")
    UNION ALL
    SELECT "i0" FROM "ranked" WHERE "r" <= 10
)
SELECT "i0", COUNT(*) AS "n" FROM "kept" GROUP BY "i0"

-- users: the largest 1001
SELECT "i0", "n" FROM (WITH "pairs" AS MATERIALIZED (SELECT DISTINCT "u", "i0" FROM (SELECT "u", "i0" FROM (SELECT "user" AS "u", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "i0" FROM "unlisted_database"."main"."rows" AS "unlisted_source") AS "rows" WHERE "u" IS NOT NULL AND "i0" IS NOT NULL AND STRLEN("i0") <= 1024) AS "good"),
"heavy" AS MATERIALIZED (
    SELECT "u" AS "h", 'AAECAwQFBgcICQoLDA0ODw' || CAST(STRLEN(CAST("u" AS VARCHAR)) AS VARCHAR) || ':' || CAST("u" AS VARCHAR) || ':' AS "prefix" FROM "pairs" GROUP BY "u" HAVING COUNT(*) > 10
),
"keyed" AS (
    SELECT "u", "i0", HASH("prefix" || "i0") AS "k" FROM "pairs" JOIN "heavy" ON "u" = "h"
),
"ranked" AS (
    SELECT "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"
),
"kept" AS (
    SELECT "i0" FROM "pairs" WHERE NOT EXISTS (SELECT 1 FROM "heavy" WHERE "h" = "u")
    UNION ALL
    SELECT "i0" FROM "ranked" WHERE "r" <= 10
)
SELECT "i0", COUNT(*) AS "n" FROM "kept" GROUP BY "i0") AS "counts" ORDER BY "n" DESC, "i0" LIMIT 1001

-- users: profile
SELECT "n", COUNT(*) AS "labels" FROM "unlisted_bounded" WHERE "n" <= 25 GROUP BY "n"

-- users: above the cut
SELECT "i0", "n" FROM "unlisted_bounded" WHERE "n" > 25

-- users: labels by rank
SELECT "position", "i0" FROM (
    SELECT "i0", "n", ROW_NUMBER() OVER (PARTITION BY "n" ORDER BY "i0") - 1 AS "rank"
    FROM "unlisted_bounded" WHERE "n" IN (SELECT "count" FROM "unlisted_wanted")
) AS "ranked" JOIN "unlisted_wanted" ON "n" = "count" AND "rank" = "at"

-- rows: bounded counts
WITH "pairs" AS MATERIALIZED (SELECT "u", "i0", "i1", "z1", LEAST(COUNT(*), 3) AS "m" FROM (SELECT "u", "i0", "i1", CASE WHEN "i1" = 0 THEN CAST("i1" AS VARCHAR) LIKE '-%' ELSE FALSE END AS "z1" FROM (SELECT "user" AS "u", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "i0", CASE WHEN ISNAN("amount") THEN NULL ELSE "amount" END AS "i1" FROM (SELECT * FROM (SELECT "user" AS "user", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "item", CASE WHEN ISNAN("amount") THEN NULL ELSE "amount" END AS "amount", "age" AS "age" FROM "unlisted_database"."main"."rows") AS "plain" WHERE "age" >= 18) AS "unlisted_source") AS "rows" WHERE "u" IS NOT NULL AND "i0" IS NOT NULL AND "i1" IS NOT NULL AND STRLEN("i0") <= 1024) AS "good" GROUP BY "u", "i0", "i1", "z1"),
"heavy" AS MATERIALIZED (
    SELECT "u" AS "h", 'AAECAwQFBgcICQoLDA0ODw' || CAST(STRLEN(CAST("u" AS VARCHAR)) AS VARCHAR) || ':' || CAST("u" AS VARCHAR) || ':' AS "prefix" FROM "pairs" GROUP BY "u" HAVING COUNT(*) > 10
),
"keyed" AS (
    SELECT "u", "i0", "i1", "z1", "m", HASH("prefix" || CAST(STRLEN("i0") AS VARCHAR) || ':' || "i0" || CAST("i1" AS VARCHAR)) AS "k" FROM "pairs" JOIN "heavy" ON "u" = "h"
),
"ranked" AS (
    SELECT "i0", "i1", "z1", "m", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"
),
"kept" AS (
    SELECT "i0", "i1", "z1", "m" FROM "pairs" WHERE NOT EXISTS (SELECT 1 FROM "heavy" WHERE "h" = "u")
    UNION ALL
    SELECT "i0", "i1", "z1", "m" FROM "ranked" WHERE "r" <= 10
)
SELECT "i0", "i1", "z1", CAST(SUM("m") AS BIGINT) AS "n" FROM "kept" GROUP BY "i0", "i1", "z1"

-- rows: the largest 1001
SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM (WITH "pairs" AS MATERIALIZED (SELECT "u", "i0", "i1", "z1", LEAST(COUNT(*), 3) AS "m" FROM (SELECT "u", "i0", "i1", CASE WHEN "i1" = 0 THEN CAST("i1" AS VARCHAR) LIKE '-%' ELSE FALSE END AS "z1" FROM (SELECT "user" AS "u", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "i0", CASE WHEN ISNAN("amount") THEN NULL ELSE "amount" END AS "i1" FROM (SELECT * FROM (SELECT "user" AS "user", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "item", CASE WHEN ISNAN("amount") THEN NULL ELSE "amount" END AS "amount", "age" AS "age" FROM "unlisted_database"."main"."rows") AS "plain" WHERE "age" >= 18) AS "unlisted_source") AS "rows" WHERE "u" IS NOT NULL AND "i0" IS NOT NULL AND "i1" IS NOT NULL AND STRLEN("i0") <= 1024) AS "good" GROUP BY "u", "i0", "i1", "z1"),
"heavy" AS MATERIALIZED (
    SELECT "u" AS "h", 'AAECAwQFBgcICQoLDA0ODw' || CAST(STRLEN(CAST("u" AS VARCHAR)) AS VARCHAR) || ':' || CAST("u" AS VARCHAR) || ':' AS "prefix" FROM "pairs" GROUP BY "u" HAVING COUNT(*) > 10
),
"keyed" AS (
    SELECT "u", "i0", "i1", "z1", "m", HASH("prefix" || CAST(STRLEN("i0") AS VARCHAR) || ':' || "i0" || CAST("i1" AS VARCHAR)) AS "k" FROM "pairs" JOIN "heavy" ON "u" = "h"
),
"ranked" AS (
    SELECT "i0", "i1", "z1", "m", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"
),
"kept" AS (
    SELECT "i0", "i1", "z1", "m" FROM "pairs" WHERE NOT EXISTS (SELECT 1 FROM "heavy" WHERE "h" = "u")
    UNION ALL
    SELECT "i0", "i1", "z1", "m" FROM "ranked" WHERE "r" <= 10
)
SELECT "i0", "i1", "z1", CAST(SUM("m") AS BIGINT) AS "n" FROM "kept" GROUP BY "i0", "i1", "z1") AS "counts" ORDER BY "n" DESC, "i0", "i1", "z1" DESC LIMIT 1001

-- rows: profile
SELECT "n", COUNT(*) AS "labels" FROM "unlisted_bounded" WHERE "n" <= 25 GROUP BY "n"

-- rows: above the cut
SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM "unlisted_bounded" WHERE "n" > 25

-- rows: labels by rank
SELECT "position", "i0", "i1" FROM (
    SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n", ROW_NUMBER() OVER (PARTITION BY "n" ORDER BY "i0", "i1", "z1" DESC) - 1 AS "rank"
    FROM "unlisted_bounded" WHERE "n" IN (SELECT "count" FROM "unlisted_wanted")
) AS "ranked" JOIN "unlisted_wanted" ON "n" = "count" AND "rank" = "at"

-- unbounded: bounded counts
SELECT "i0", COUNT(*) AS "n" FROM (SELECT DISTINCT "u", "i0" FROM (SELECT "u", "i0" FROM (SELECT "user" AS "u", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "i0" FROM "unlisted_database"."main"."rows" AS "unlisted_source") AS "rows" WHERE "u" IS NOT NULL AND "i0" IS NOT NULL AND STRLEN("i0") <= 1024) AS "good") AS "pairs" GROUP BY "i0"

-- unbounded: the largest 1001
SELECT "i0", "n" FROM (SELECT "i0", COUNT(*) AS "n" FROM (SELECT DISTINCT "u", "i0" FROM (SELECT "u", "i0" FROM (SELECT "user" AS "u", TRY(DECODE(ENCODE("item"))) COLLATE "C" AS "i0" FROM "unlisted_database"."main"."rows" AS "unlisted_source") AS "rows" WHERE "u" IS NOT NULL AND "i0" IS NOT NULL AND STRLEN("i0") <= 1024) AS "good") AS "pairs" GROUP BY "i0") AS "counts" ORDER BY "n" DESC, "i0" LIMIT 1001

-- unbounded: profile
SELECT "n", COUNT(*) AS "labels" FROM "unlisted_bounded" WHERE "n" <= 25 GROUP BY "n"

-- unbounded: above the cut
SELECT "i0", "n" FROM "unlisted_bounded" WHERE "n" > 25

-- unbounded: labels by rank
SELECT "position", "i0" FROM (
    SELECT "i0", "n", ROW_NUMBER() OVER (PARTITION BY "n" ORDER BY "i0") - 1 AS "rank"
    FROM "unlisted_bounded" WHERE "n" IN (SELECT "count" FROM "unlisted_wanted")
) AS "ranked" JOIN "unlisted_wanted" ON "n" = "count" AND "rank" = "at"

