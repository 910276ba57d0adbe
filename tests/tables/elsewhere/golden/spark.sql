-- The 1001 largest counts, of each user at most 10 items. It reads the table once and writes nothing.
-- Use it once: it holds a fresh secret, which chooses the items of heavy users. Print another next time.
-- Export the whole answer with its column names, as CSV, JSON or Parquet. Then: unlisted counts FILE ...
-- The counts are true: keep them as close as the table, and release only what `unlisted` makes of them.
WITH `pairs` AS (
  SELECT DISTINCT
    `u`,
    `i0`
  FROM (
    SELECT
      `u`,
      `i0`
    FROM (
      SELECT
        CASE WHEN `user_id` = `user_id` THEN `user_id` END AS `u`,
        CASE
          WHEN OCTET_LENGTH(CAST(`query` AS STRING)) <= 1024
          THEN HEX(ENCODE(CAST(`query` AS STRING), 'UTF-8'))
        END AS `i0`
      FROM `shop`.`visits` AS `unlisted_source`
    ) AS `rows`
    WHERE
      NOT `u` IS NULL
      AND NOT `i0` IS NULL
      AND OCTET_LENGTH(CAST(`u` AS STRING)) <= 4096
      AND OCTET_LENGTH(`i0`) <= 2048
  ) AS `good`
), `prefixed` AS (
  SELECT
    `u`,
    `i0`,
    'AAECAwQFBgcICQoLDA0ODw' || CAST(OCTET_LENGTH(CAST(`u` AS STRING)) AS STRING) || ':' || CAST(`u` AS STRING) || ':' AS `prefix`
  FROM `pairs`
), `keyed` AS (
  SELECT
    `u`,
    `i0`,
    LEFT(SHA2(`prefix` || `i0`, 256), 12) AS `k`
  FROM `prefixed`
), `ranked` AS (
  SELECT
    `i0`,
    ROW_NUMBER() OVER (PARTITION BY `u` ORDER BY `k`, `i0`) AS `r`
  FROM `keyed`
), `counts` AS (
  SELECT
    `i0`,
    COUNT(*) AS `n`
  FROM `ranked`
  WHERE
    `r` <= 10
  GROUP BY
    `i0`
), `largest` AS (
  SELECT
    `i0`,
    `n`
  FROM `counts`
  ORDER BY
    `n` DESC,
    `i0`
  LIMIT 1001
)
SELECT
  `i0`,
  `n`,
  COUNT(*) OVER () AS `of`,
  'be45cb2605bf36be' AS `unlisted`
FROM `largest`
UNION ALL
SELECT
  '' AS `i0`,
  0 AS `n`,
  0 AS `of`,
  'unlisted-counts-1 question=top user=user_id items=query items_per_user=10 count_per_item=1 fetch=1000 statement=be45cb2605bf36be' AS `unlisted`;

-- All counts, of each user at most 2 items. It reads the table once and writes nothing.
-- Use it once: it holds a fresh secret, which chooses the items of heavy users. Print another next time.
-- Export the whole answer with its column names, as CSV, JSON or Parquet. Then: unlisted counts FILE ...
-- The counts are true: keep them as close as the table, and release only what `unlisted` makes of them.
WITH `pairs` AS (
  SELECT
    `u`,
    `i0`,
    `i1`,
    CASE WHEN COUNT(*) < 3 THEN COUNT(*) ELSE 3 END AS `m`
  FROM (
    SELECT
      `u`,
      `i0`,
      `i1`
    FROM (
      SELECT
        CASE WHEN `user_id` = `user_id` THEN `user_id` END AS `u`,
        CASE
          WHEN OCTET_LENGTH(CAST(`query` AS STRING)) <= 1024
          THEN HEX(ENCODE(CAST(`query` AS STRING), 'UTF-8'))
        END AS `i0`,
        CASE
          WHEN OCTET_LENGTH(CAST(`price` AS STRING)) <= 1024
          THEN HEX(ENCODE(CAST(`price` AS STRING), 'UTF-8'))
        END AS `i1`
      FROM `shop`.`visits` AS `unlisted_source`
    ) AS `rows`
    WHERE
      NOT `u` IS NULL
      AND NOT `i0` IS NULL
      AND NOT `i1` IS NULL
      AND OCTET_LENGTH(CAST(`u` AS STRING)) <= 4096
      AND OCTET_LENGTH(`i0`) + OCTET_LENGTH(`i1`) <= 2048
  ) AS `good`
  GROUP BY
    `u`,
    `i0`,
    `i1`
), `prefixed` AS (
  SELECT
    `u`,
    `i0`,
    `i1`,
    `m`,
    'AAECAwQFBgcICQoLDA0ODw' || CAST(OCTET_LENGTH(CAST(`u` AS STRING)) AS STRING) || ':' || CAST(`u` AS STRING) || ':' AS `prefix`
  FROM `pairs`
), `keyed` AS (
  SELECT
    `u`,
    `i0`,
    `i1`,
    `m`,
    LEFT(
      SHA2(`prefix` || CAST(OCTET_LENGTH(`i0`) AS STRING) || ':' || `i0` || `i1`, 256),
      12
    ) AS `k`
  FROM `prefixed`
), `ranked` AS (
  SELECT
    `i0`,
    `i1`,
    `m`,
    ROW_NUMBER() OVER (PARTITION BY `u` ORDER BY `k`, `i0`, `i1`) AS `r`
  FROM `keyed`
), `counts` AS (
  SELECT
    `i0`,
    `i1`,
    CAST(SUM(`m`) AS BIGINT) AS `n`
  FROM `ranked`
  WHERE
    `r` <= 2
  GROUP BY
    `i0`,
    `i1`
)
SELECT
  `i0`,
  `i1`,
  `n`,
  COUNT(*) OVER () AS `of`,
  'be45cb2605bf36be' AS `unlisted`
FROM `counts`
UNION ALL
SELECT
  '' AS `i0`,
  '' AS `i1`,
  0 AS `n`,
  0 AS `of`,
  'unlisted-counts-1 question=histogram user=user_id items=query,price items_per_user=2 count_per_item=3 fetch=none statement=be45cb2605bf36be' AS `unlisted`;

-- The 6 largest counts. It reads the table once and writes nothing.
-- Use it once: it holds a fresh secret, which chooses the items of heavy users. Print another next time.
-- Export the whole answer with its column names, as CSV, JSON or Parquet. Then: unlisted counts FILE ...
-- The counts are true: keep them as close as the table, and release only what `unlisted` makes of them.
WITH `pairs` AS (
  SELECT DISTINCT
    `u`,
    `i0`
  FROM (
    SELECT
      `u`,
      `i0`
    FROM (
      SELECT
        CASE WHEN `user_id` = `user_id` THEN `user_id` END AS `u`,
        CASE
          WHEN OCTET_LENGTH(CAST(`query` AS STRING)) <= 1024
          THEN HEX(ENCODE(CAST(`query` AS STRING), 'UTF-8'))
        END AS `i0`
      FROM `shop`.`visits` AS `unlisted_source`
    ) AS `rows`
    WHERE
      NOT `u` IS NULL
      AND NOT `i0` IS NULL
      AND OCTET_LENGTH(CAST(`u` AS STRING)) <= 4096
      AND OCTET_LENGTH(`i0`) <= 2048
  ) AS `good`
), `counts` AS (
  SELECT
    `i0`,
    COUNT(*) AS `n`
  FROM `pairs`
  GROUP BY
    `i0`
), `largest` AS (
  SELECT
    `i0`,
    `n`
  FROM `counts`
  ORDER BY
    `n` DESC,
    `i0`
  LIMIT 6
)
SELECT
  `i0`,
  `n`,
  COUNT(*) OVER () AS `of`,
  'be45cb2605bf36be' AS `unlisted`
FROM `largest`
UNION ALL
SELECT
  '' AS `i0`,
  0 AS `n`,
  0 AS `of`,
  'unlisted-counts-1 question=top user=user_id items=query items_per_user=none count_per_item=1 fetch=5 statement=be45cb2605bf36be' AS `unlisted`;
