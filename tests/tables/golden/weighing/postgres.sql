-- a text: distinct pairs
SELECT DISTINCT "u", "i0" FROM (SELECT "u", "i0" FROM (SELECT "user_id" AS "u", CAST("query" AS TEXT) COLLATE "C" AS "i0" FROM "weighing"."searches" AS "unlisted_source") AS "rows" WHERE NOT "u" IS NULL AND NOT "i0" IS NULL AND OCTET_LENGTH("i0") <= 1024) AS "good";

-- a text: pairs of labels not taken out
SELECT "u", "i0" FROM "unlisted_pairs" WHERE NOT EXISTS(SELECT 1 FROM "taken" WHERE "taken"."i0" = "unlisted_pairs"."i0");

-- a text: pairs of labels in play
SELECT "u", "i0" FROM "unlisted_pairs" WHERE EXISTS(SELECT 1 FROM "in_play" WHERE "in_play"."i0" = "unlisted_pairs"."i0");

-- a text: the same, not taken out
SELECT "u", "i0" FROM "unlisted_pairs" WHERE EXISTS(SELECT 1 FROM "in_play" WHERE "in_play"."i0" = "unlisted_pairs"."i0") AND NOT EXISTS(SELECT 1 FROM "taken" WHERE "taken"."i0" = "unlisted_pairs"."i0");

-- a text: how many pairs users have
SELECT "u", COUNT(*) AS "c" FROM "left" GROUP BY "u";

-- a text: pairs within the bound
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "left" GROUP BY "u" HAVING COUNT(*) > 100), "keyed" AS (SELECT "u", "i0", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || "i0", 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "left" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "u", "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "u", "i0" FROM "left" WHERE NOT EXISTS(SELECT 1 FROM "heavy" WHERE "h" = "u") UNION ALL SELECT "u", "i0" FROM "ranked" WHERE "r" <= 100) SELECT "u", "i0" FROM "kept";

-- a text: weights in full
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "sizes" WHERE "c" > 100), "keyed" AS (SELECT "u", "i0", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || "i0", 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "left" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "u", "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "u", "i0" FROM "ranked" WHERE "r" <= 100), "few" AS (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n"), "many" AS (SELECT "v", "full", "even" FROM (SELECT "u" AS "v", COUNT(*) AS "c" FROM "kept" GROUP BY "u") AS "sizes" JOIN "unlisted_weights" ON "c" = "n"), "parts" AS (SELECT "i0", "full" FROM "left" JOIN "few" ON "u" = "v" UNION ALL SELECT "i0", "full" FROM "kept" JOIN "many" ON "u" = "v") SELECT "i0", CAST(LEAST(SUM(CAST("full" AS DECIMAL)), 4611686018427387904) AS BIGINT) AS "n" FROM "parts" GROUP BY "i0";

-- a text: weights with giving back
WITH "users" AS MATERIALIZED (SELECT "v", "full", "even" FROM (SELECT "u" AS "v", COUNT(*) AS "c" FROM "kept_pairs" GROUP BY "u") AS "sizes" JOIN "unlisted_weights" ON "c" = "n"), "labels" AS MATERIALIZED (SELECT "i0", "own", "even", CASE WHEN "even" <= 85899345920 THEN 0 ELSE CAST(FLOOR(CAST(CAST(LEAST("even", 9007199254740992) AS BIGINT) - 85899345920 AS DOUBLE PRECISION) / CAST(CAST(LEAST("even", 9007199254740992) AS BIGINT) AS DOUBLE PRECISION) * 1099511627776) AS BIGINT) END AS "back" FROM (SELECT "i0", SUM(CAST("full" - "even" AS DECIMAL)) AS "own", SUM(CAST("even" AS DECIMAL)) AS "even" FROM "kept_pairs" JOIN "users" ON "u" = "v" GROUP BY "i0") AS "sums"), "givers" AS (SELECT "i0", "back" FROM "labels" WHERE "back" > 0), "getting" AS (SELECT "u" AS "w", CAST(SUM("back") AS DECIMAL) AS "gets" FROM "kept_pairs" JOIN "givers" USING ("i0") GROUP BY "u"), "gifts" AS (SELECT "w", CAST("even" AS DECIMAL) * "gets" AS "gift" FROM "getting" JOIN "users" ON "w" = "v" WHERE "even" > 0), "gains" AS (SELECT "i0", SUM("gift") AS "gain" FROM "kept_pairs" JOIN "gifts" ON "u" = "w" GROUP BY "i0") SELECT "i0", CAST(LEAST("own" + DIV(LEAST("even" * 58 * (1099511627776 - "back") + COALESCE("gain", 0), 294094939252949221147235143647232), 63771674411008), 4611686018427387904) AS BIGINT) AS "n" FROM "labels" LEFT JOIN "gains" USING ("i0");

-- a text: how many labels are in each bucket
SELECT CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT) AS "b", COUNT(*) AS "labels" FROM "weights" GROUP BY CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT);

-- a text: labels chosen by their places
SELECT "i0", "n", "b", "rank" FROM (SELECT "i0", "n", "b", ROW_NUMBER() OVER (PARTITION BY "b" ORDER BY "i0") - 1 AS "rank" FROM (SELECT "i0", "n", CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT) AS "b" FROM "weights") AS "in_buckets" WHERE "b" IN (SELECT "bucket" FROM "unlisted_places")) AS "ranked" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text: labels at places
SELECT "position", "i0", "n" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text: weights at places
SELECT "position", "n" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text: labels taken out
SELECT "i0" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text: labels taken out after others
SELECT "i0" FROM "taken" UNION ALL SELECT "i0" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text: users of labels taken out
SELECT "i0", "n" FROM (SELECT "i0", COUNT(*) AS "n" FROM "unlisted_pairs" JOIN "taken" USING ("i0") GROUP BY "i0") AS "counts";

-- a text: users of no labels
SELECT "i0", "n" FROM (SELECT "i0", COUNT(*) AS "n" FROM "unlisted_pairs" WHERE FALSE GROUP BY "i0") AS "counts";

-- a text: pairs of labels taken out
SELECT "u", "i0" FROM "unlisted_pairs" JOIN "taken" USING ("i0");

-- a text: pairs of no labels
SELECT "u", "i0" FROM "unlisted_pairs" WHERE FALSE;

-- a text: how many users have how many labels
SELECT "c", COUNT(*) AS "users" FROM "sizes" GROUP BY "c";

-- a text: what users of labels count for
SELECT "i0", "n" FROM (SELECT "i0", CAST(LEAST(SUM(CAST("full" AS DECIMAL)), 4611686018427387904) AS BIGINT) AS "n" FROM "of_taken" JOIN (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n") AS "users" ON "u" = "v" GROUP BY "i0") AS "scaled";

-- a text: how much users have of labels
SELECT "i0", "n" FROM (SELECT "i0", CAST(LEAST(GREATEST(SUM(CAST("full" AS DECIMAL) * "a"), -4611686018427387904), 4611686018427387904) AS BIGINT) AS "n" FROM "of_taken" JOIN (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n") AS "users" ON "u" = "v" GROUP BY "i0") AS "sums";

-- a text: users with any label
SELECT COUNT(*) AS "n" FROM "sizes";

-- a text: labels of all users
SELECT CAST(LEAST(COALESCE(SUM(CAST(LEAST("c", 10) AS DECIMAL)), 0), 4611686018427387904) AS BIGINT) AS "n" FROM "sizes";

-- a text: users with other labels
SELECT COUNT(*) AS "n" FROM "sizes" LEFT JOIN (SELECT "u" AS "v", "c" AS "m" FROM "sizes_of_taken") AS "of_taken" ON "u" = "v" WHERE "c" > COALESCE("m", 0);

-- a text: other labels
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "others" GROUP BY "u" HAVING COUNT(*) > 10), "keyed" AS (SELECT "u", "i0", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || "i0", 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "others" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "i0" FROM "others" WHERE NOT EXISTS(SELECT 1 FROM "heavy" WHERE "h" = "u") UNION ALL SELECT "i0" FROM "ranked" WHERE "r" <= 10) SELECT COUNT(*) AS "n" FROM (SELECT DISTINCT "i0" FROM "kept") AS "labels";

-- a text and a number: distinct pairs
SELECT DISTINCT "u", "i0", "i1", "z1" FROM (SELECT "u", "i0", "i1", CASE WHEN "i1" = 0 THEN CAST("i1" AS TEXT) LIKE '-%' ELSE FALSE END AS "z1" FROM (SELECT "user_id" AS "u", CAST("query" AS TEXT) COLLATE "C" AS "i0", NULLIF("price", CAST('NaN' AS DOUBLE PRECISION)) AS "i1" FROM "weighing"."searches" AS "unlisted_source") AS "rows" WHERE NOT "u" IS NULL AND NOT "i0" IS NULL AND NOT "i1" IS NULL AND OCTET_LENGTH("i0") <= 1024) AS "good";

-- a text and a number: pairs of labels not taken out
SELECT "u", "i0", "i1", "z1" FROM "unlisted_pairs" WHERE NOT EXISTS(SELECT 1 FROM "taken" WHERE "taken"."i0" = "unlisted_pairs"."i0" AND "taken"."i1" = "unlisted_pairs"."i1" AND "taken"."z1" = "unlisted_pairs"."z1");

-- a text and a number: pairs of labels in play
SELECT "u", "i0", "i1", "z1" FROM "unlisted_pairs" WHERE EXISTS(SELECT 1 FROM "in_play" WHERE "in_play"."i0" = "unlisted_pairs"."i0" AND "in_play"."i1" = "unlisted_pairs"."i1" AND "in_play"."z1" = "unlisted_pairs"."z1");

-- a text and a number: the same, not taken out
SELECT "u", "i0", "i1", "z1" FROM "unlisted_pairs" WHERE EXISTS(SELECT 1 FROM "in_play" WHERE "in_play"."i0" = "unlisted_pairs"."i0" AND "in_play"."i1" = "unlisted_pairs"."i1" AND "in_play"."z1" = "unlisted_pairs"."z1") AND NOT EXISTS(SELECT 1 FROM "taken" WHERE "taken"."i0" = "unlisted_pairs"."i0" AND "taken"."i1" = "unlisted_pairs"."i1" AND "taken"."z1" = "unlisted_pairs"."z1");

-- a text and a number: how many pairs users have
SELECT "u", COUNT(*) AS "c" FROM "left" GROUP BY "u";

-- a text and a number: pairs within the bound
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "left" GROUP BY "u" HAVING COUNT(*) > 100), "keyed" AS (SELECT "u", "i0", "i1", "z1", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || CAST(OCTET_LENGTH("i0") AS TEXT) || ':' || "i0" || CAST("i1" AS TEXT), 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "left" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "u", "i0", "i1", "z1", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "u", "i0", "i1", "z1" FROM "left" WHERE NOT EXISTS(SELECT 1 FROM "heavy" WHERE "h" = "u") UNION ALL SELECT "u", "i0", "i1", "z1" FROM "ranked" WHERE "r" <= 100) SELECT "u", "i0", "i1", "z1" FROM "kept";

-- a text and a number: weights in full
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "sizes" WHERE "c" > 100), "keyed" AS (SELECT "u", "i0", "i1", "z1", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || CAST(OCTET_LENGTH("i0") AS TEXT) || ':' || "i0" || CAST("i1" AS TEXT), 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "left" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "u", "i0", "i1", "z1", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "u", "i0", "i1", "z1" FROM "ranked" WHERE "r" <= 100), "few" AS (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n"), "many" AS (SELECT "v", "full", "even" FROM (SELECT "u" AS "v", COUNT(*) AS "c" FROM "kept" GROUP BY "u") AS "sizes" JOIN "unlisted_weights" ON "c" = "n"), "parts" AS (SELECT "i0", "i1", "z1", "full" FROM "left" JOIN "few" ON "u" = "v" UNION ALL SELECT "i0", "i1", "z1", "full" FROM "kept" JOIN "many" ON "u" = "v") SELECT "i0", "i1", "z1", CAST(LEAST(SUM(CAST("full" AS DECIMAL)), 4611686018427387904) AS BIGINT) AS "n" FROM "parts" GROUP BY "i0", "i1", "z1";

-- a text and a number: weights with giving back
WITH "users" AS MATERIALIZED (SELECT "v", "full", "even" FROM (SELECT "u" AS "v", COUNT(*) AS "c" FROM "kept_pairs" GROUP BY "u") AS "sizes" JOIN "unlisted_weights" ON "c" = "n"), "labels" AS MATERIALIZED (SELECT "i0", "i1", "z1", "own", "even", CASE WHEN "even" <= 85899345920 THEN 0 ELSE CAST(FLOOR(CAST(CAST(LEAST("even", 9007199254740992) AS BIGINT) - 85899345920 AS DOUBLE PRECISION) / CAST(CAST(LEAST("even", 9007199254740992) AS BIGINT) AS DOUBLE PRECISION) * 1099511627776) AS BIGINT) END AS "back" FROM (SELECT "i0", "i1", "z1", SUM(CAST("full" - "even" AS DECIMAL)) AS "own", SUM(CAST("even" AS DECIMAL)) AS "even" FROM "kept_pairs" JOIN "users" ON "u" = "v" GROUP BY "i0", "i1", "z1") AS "sums"), "givers" AS (SELECT "i0", "i1", "z1", "back" FROM "labels" WHERE "back" > 0), "getting" AS (SELECT "u" AS "w", CAST(SUM("back") AS DECIMAL) AS "gets" FROM "kept_pairs" JOIN "givers" USING ("i0", "i1", "z1") GROUP BY "u"), "gifts" AS (SELECT "w", CAST("even" AS DECIMAL) * "gets" AS "gift" FROM "getting" JOIN "users" ON "w" = "v" WHERE "even" > 0), "gains" AS (SELECT "i0", "i1", "z1", SUM("gift") AS "gain" FROM "kept_pairs" JOIN "gifts" ON "u" = "w" GROUP BY "i0", "i1", "z1") SELECT "i0", "i1", "z1", CAST(LEAST("own" + DIV(LEAST("even" * 58 * (1099511627776 - "back") + COALESCE("gain", 0), 294094939252949221147235143647232), 63771674411008), 4611686018427387904) AS BIGINT) AS "n" FROM "labels" LEFT JOIN "gains" USING ("i0", "i1", "z1");

-- a text and a number: how many labels are in each bucket
SELECT CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT) AS "b", COUNT(*) AS "labels" FROM "weights" GROUP BY CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT);

-- a text and a number: labels chosen by their places
SELECT "i0", "i1", "z1", "n", "b", "rank" FROM (SELECT "i0", "i1", "z1", "n", "b", ROW_NUMBER() OVER (PARTITION BY "b" ORDER BY "i0", "i1", "z1" DESC NULLS LAST) - 1 AS "rank" FROM (SELECT "i0", "i1", "z1", "n", CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT) AS "b" FROM "weights") AS "in_buckets" WHERE "b" IN (SELECT "bucket" FROM "unlisted_places")) AS "ranked" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text and a number: labels at places
SELECT "position", "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text and a number: weights at places
SELECT "position", "n" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text and a number: labels taken out
SELECT "i0", "i1", "z1" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text and a number: labels taken out after others
SELECT "i0", "i1", "z1" FROM "taken" UNION ALL SELECT "i0", "i1", "z1" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- a text and a number: users of labels taken out
SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM (SELECT "i0", "i1", "z1", COUNT(*) AS "n" FROM "unlisted_pairs" JOIN "taken" USING ("i0", "i1", "z1") GROUP BY "i0", "i1", "z1") AS "counts";

-- a text and a number: users of no labels
SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM (SELECT "i0", "i1", "z1", COUNT(*) AS "n" FROM "unlisted_pairs" WHERE FALSE GROUP BY "i0", "i1", "z1") AS "counts";

-- a text and a number: pairs of labels taken out
SELECT "u", "i0", "i1", "z1" FROM "unlisted_pairs" JOIN "taken" USING ("i0", "i1", "z1");

-- a text and a number: pairs of no labels
SELECT "u", "i0", "i1", "z1" FROM "unlisted_pairs" WHERE FALSE;

-- a text and a number: how many users have how many labels
SELECT "c", COUNT(*) AS "users" FROM "sizes" GROUP BY "c";

-- a text and a number: what users of labels count for
SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM (SELECT "i0", "i1", "z1", CAST(LEAST(SUM(CAST("full" AS DECIMAL)), 4611686018427387904) AS BIGINT) AS "n" FROM "of_taken" JOIN (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n") AS "users" ON "u" = "v" GROUP BY "i0", "i1", "z1") AS "scaled";

-- a text and a number: how much users have of labels
SELECT "i0", CASE WHEN "z1" THEN -ABS("i1") ELSE "i1" END AS "i1", "n" FROM (SELECT "i0", "i1", "z1", CAST(LEAST(GREATEST(SUM(CAST("full" AS DECIMAL) * "a"), -4611686018427387904), 4611686018427387904) AS BIGINT) AS "n" FROM "of_taken" JOIN (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n") AS "users" ON "u" = "v" GROUP BY "i0", "i1", "z1") AS "sums";

-- a text and a number: users with any label
SELECT COUNT(*) AS "n" FROM "sizes";

-- a text and a number: labels of all users
SELECT CAST(LEAST(COALESCE(SUM(CAST(LEAST("c", 10) AS DECIMAL)), 0), 4611686018427387904) AS BIGINT) AS "n" FROM "sizes";

-- a text and a number: users with other labels
SELECT COUNT(*) AS "n" FROM "sizes" LEFT JOIN (SELECT "u" AS "v", "c" AS "m" FROM "sizes_of_taken") AS "of_taken" ON "u" = "v" WHERE "c" > COALESCE("m", 0);

-- a text and a number: other labels
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "others" GROUP BY "u" HAVING COUNT(*) > 10), "keyed" AS (SELECT "u", "i0", "i1", "z1", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || CAST(OCTET_LENGTH("i0") AS TEXT) || ':' || "i0" || CAST("i1" AS TEXT), 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "others" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "i0", "i1", "z1", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "i0", "i1", "z1" FROM "others" WHERE NOT EXISTS(SELECT 1 FROM "heavy" WHERE "h" = "u") UNION ALL SELECT "i0", "i1", "z1" FROM "ranked" WHERE "r" <= 10) SELECT COUNT(*) AS "n" FROM (SELECT DISTINCT "i0", "i1", "z1" FROM "kept") AS "labels";

-- an amount: distinct pairs
SELECT "u", "i0", CAST(LEAST(GREATEST(SUM(CAST("x" AS DECIMAL)), -500), 5000) AS BIGINT) AS "a" FROM (SELECT "u", "i0", CASE WHEN "amount" IS NULL THEN 0 ELSE CAST(FLOOR(LEAST(GREATEST("amount", -CAST(11258999068426.24 AS DOUBLE PRECISION)), CAST(11258999068426.24 AS DOUBLE PRECISION)) * CAST(100 AS DOUBLE PRECISION) + CAST(0.5 AS DOUBLE PRECISION)) AS BIGINT) END AS "x" FROM (SELECT "user_id" AS "u", CAST("query" AS TEXT) COLLATE "C" AS "i0", CAST(NULLIF("price", CAST('NaN' AS DOUBLE PRECISION)) AS DOUBLE PRECISION) AS "amount" FROM "weighing"."searches" AS "unlisted_source") AS "rows" WHERE NOT "u" IS NULL AND NOT "i0" IS NULL AND OCTET_LENGTH("i0") <= 1024) AS "good" GROUP BY "u", "i0";

-- an amount: pairs of labels not taken out
SELECT "u", "i0" FROM "unlisted_pairs" WHERE NOT EXISTS(SELECT 1 FROM "taken" WHERE "taken"."i0" = "unlisted_pairs"."i0");

-- an amount: pairs of labels in play
SELECT "u", "i0" FROM "unlisted_pairs" WHERE EXISTS(SELECT 1 FROM "in_play" WHERE "in_play"."i0" = "unlisted_pairs"."i0");

-- an amount: the same, not taken out
SELECT "u", "i0" FROM "unlisted_pairs" WHERE EXISTS(SELECT 1 FROM "in_play" WHERE "in_play"."i0" = "unlisted_pairs"."i0") AND NOT EXISTS(SELECT 1 FROM "taken" WHERE "taken"."i0" = "unlisted_pairs"."i0");

-- an amount: how many pairs users have
SELECT "u", COUNT(*) AS "c" FROM "left" GROUP BY "u";

-- an amount: pairs within the bound
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "left" GROUP BY "u" HAVING COUNT(*) > 100), "keyed" AS (SELECT "u", "i0", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || "i0", 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "left" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "u", "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "u", "i0" FROM "left" WHERE NOT EXISTS(SELECT 1 FROM "heavy" WHERE "h" = "u") UNION ALL SELECT "u", "i0" FROM "ranked" WHERE "r" <= 100) SELECT "u", "i0" FROM "kept";

-- an amount: weights in full
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "sizes" WHERE "c" > 100), "keyed" AS (SELECT "u", "i0", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || "i0", 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "left" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "u", "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "u", "i0" FROM "ranked" WHERE "r" <= 100), "few" AS (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n"), "many" AS (SELECT "v", "full", "even" FROM (SELECT "u" AS "v", COUNT(*) AS "c" FROM "kept" GROUP BY "u") AS "sizes" JOIN "unlisted_weights" ON "c" = "n"), "parts" AS (SELECT "i0", "full" FROM "left" JOIN "few" ON "u" = "v" UNION ALL SELECT "i0", "full" FROM "kept" JOIN "many" ON "u" = "v") SELECT "i0", CAST(LEAST(SUM(CAST("full" AS DECIMAL)), 4611686018427387904) AS BIGINT) AS "n" FROM "parts" GROUP BY "i0";

-- an amount: weights with giving back
WITH "users" AS MATERIALIZED (SELECT "v", "full", "even" FROM (SELECT "u" AS "v", COUNT(*) AS "c" FROM "kept_pairs" GROUP BY "u") AS "sizes" JOIN "unlisted_weights" ON "c" = "n"), "labels" AS MATERIALIZED (SELECT "i0", "own", "even", CASE WHEN "even" <= 85899345920 THEN 0 ELSE CAST(FLOOR(CAST(CAST(LEAST("even", 9007199254740992) AS BIGINT) - 85899345920 AS DOUBLE PRECISION) / CAST(CAST(LEAST("even", 9007199254740992) AS BIGINT) AS DOUBLE PRECISION) * 1099511627776) AS BIGINT) END AS "back" FROM (SELECT "i0", SUM(CAST("full" - "even" AS DECIMAL)) AS "own", SUM(CAST("even" AS DECIMAL)) AS "even" FROM "kept_pairs" JOIN "users" ON "u" = "v" GROUP BY "i0") AS "sums"), "givers" AS (SELECT "i0", "back" FROM "labels" WHERE "back" > 0), "getting" AS (SELECT "u" AS "w", CAST(SUM("back") AS DECIMAL) AS "gets" FROM "kept_pairs" JOIN "givers" USING ("i0") GROUP BY "u"), "gifts" AS (SELECT "w", CAST("even" AS DECIMAL) * "gets" AS "gift" FROM "getting" JOIN "users" ON "w" = "v" WHERE "even" > 0), "gains" AS (SELECT "i0", SUM("gift") AS "gain" FROM "kept_pairs" JOIN "gifts" ON "u" = "w" GROUP BY "i0") SELECT "i0", CAST(LEAST("own" + DIV(LEAST("even" * 58 * (1099511627776 - "back") + COALESCE("gain", 0), 294094939252949221147235143647232), 63771674411008), 4611686018427387904) AS BIGINT) AS "n" FROM "labels" LEFT JOIN "gains" USING ("i0");

-- an amount: how many labels are in each bucket
SELECT CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT) AS "b", COUNT(*) AS "labels" FROM "weights" GROUP BY CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT);

-- an amount: labels chosen by their places
SELECT "i0", "n", "b", "rank" FROM (SELECT "i0", "n", "b", ROW_NUMBER() OVER (PARTITION BY "b" ORDER BY "i0") - 1 AS "rank" FROM (SELECT "i0", "n", CAST(LEAST(DIV(("n" - 1), 536870912), 40) AS BIGINT) AS "b" FROM "weights") AS "in_buckets" WHERE "b" IN (SELECT "bucket" FROM "unlisted_places")) AS "ranked" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- an amount: labels at places
SELECT "position", "i0", "n" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- an amount: weights at places
SELECT "position", "n" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- an amount: labels taken out
SELECT "i0" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- an amount: labels taken out after others
SELECT "i0" FROM "taken" UNION ALL SELECT "i0" FROM "chosen" JOIN "unlisted_places" ON "b" = "bucket" AND "rank" = "at";

-- an amount: users of labels taken out
SELECT "i0", "n" FROM (SELECT "i0", COUNT(*) AS "n" FROM "unlisted_pairs" JOIN "taken" USING ("i0") GROUP BY "i0") AS "counts";

-- an amount: users of no labels
SELECT "i0", "n" FROM (SELECT "i0", COUNT(*) AS "n" FROM "unlisted_pairs" WHERE FALSE GROUP BY "i0") AS "counts";

-- an amount: pairs of labels taken out
SELECT "u", "i0" FROM "unlisted_pairs" JOIN "taken" USING ("i0");

-- an amount: pairs of no labels
SELECT "u", "i0" FROM "unlisted_pairs" WHERE FALSE;

-- an amount: how many users have how many labels
SELECT "c", COUNT(*) AS "users" FROM "sizes" GROUP BY "c";

-- an amount: what users of labels count for
SELECT "i0", "n" FROM (SELECT "i0", CAST(LEAST(SUM(CAST("full" AS DECIMAL)), 4611686018427387904) AS BIGINT) AS "n" FROM "of_taken" JOIN (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n") AS "users" ON "u" = "v" GROUP BY "i0") AS "scaled";

-- an amount: how much users have of labels
SELECT "i0", "n" FROM (SELECT "i0", CAST(LEAST(GREATEST(SUM(CAST("full" AS DECIMAL) * "a"), -4611686018427387904), 4611686018427387904) AS BIGINT) AS "n" FROM "of_taken" JOIN (SELECT "u" AS "v", "full" FROM "sizes" JOIN "unlisted_weights" ON "c" = "n") AS "users" ON "u" = "v" GROUP BY "i0") AS "sums";

-- an amount: users with any label
SELECT COUNT(*) AS "n" FROM "sizes";

-- an amount: labels of all users
SELECT CAST(LEAST(COALESCE(SUM(CAST(LEAST("c", 10) AS DECIMAL)), 0), 4611686018427387904) AS BIGINT) AS "n" FROM "sizes";

-- an amount: users with other labels
SELECT COUNT(*) AS "n" FROM "sizes" LEFT JOIN (SELECT "u" AS "v", "c" AS "m" FROM "sizes_of_taken") AS "of_taken" ON "u" = "v" WHERE "c" > COALESCE("m", 0);

-- an amount: other labels
WITH "heavy" AS MATERIALIZED (SELECT "u" AS "h", 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST("u" AS TEXT)) AS TEXT) || ':' || CAST("u" AS TEXT) || ':' AS "prefix" FROM "others" GROUP BY "u" HAVING COUNT(*) > 10), "keyed" AS (SELECT "u", "i0", LEFT(ENCODE(SHA256(CONVERT_TO("prefix" || "i0", 'UTF8')), 'hex') COLLATE "C", 12) AS "k" FROM "others" JOIN "heavy" ON "u" = "h"), "ranked" AS (SELECT "i0", COUNT(*) OVER (PARTITION BY "u" ORDER BY "k") AS "r" FROM "keyed"), "kept" AS (SELECT "i0" FROM "others" WHERE NOT EXISTS(SELECT 1 FROM "heavy" WHERE "h" = "u") UNION ALL SELECT "i0" FROM "ranked" WHERE "r" <= 10) SELECT COUNT(*) AS "n" FROM (SELECT DISTINCT "i0" FROM "kept") AS "labels";

