-- users of an item, bounded
CACHE TABLE `pairs` AS SELECT DISTINCT `u`, `i0` FROM (SELECT `u`, `i0` FROM (SELECT `user_id` AS `u`, CASE WHEN IS_VALID_UTF8(`query`) THEN `query` END COLLATE `UTF8_BINARY` AS `i0` FROM `unlisted_source` AS `unlisted_source`) AS `rows` WHERE NOT `u` IS NULL AND NOT `i0` IS NULL AND OCTET_LENGTH(`i0`) <= 1024) AS `good`;
CACHE TABLE `heavy` AS SELECT `u` AS `h`, 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST(`u` AS STRING)) AS STRING) || ':' || CAST(`u` AS STRING) || ':' AS `prefix` FROM `pairs` GROUP BY `u` HAVING COUNT(*) > 10;
WITH `keyed` AS (SELECT `u`, `i0`, LEFT(SHA2(`prefix` || `i0`, 256), 12) AS `k` FROM `pairs` JOIN `heavy` ON `u` = `h`), `ranked` AS (SELECT `i0`, COUNT(*) OVER (PARTITION BY `u` ORDER BY `k` NULLS LAST) AS `r` FROM `keyed`), `kept` AS (SELECT `i0` FROM `pairs` WHERE NOT EXISTS(SELECT 1 FROM `heavy` WHERE `h` = `u`) UNION ALL SELECT `i0` FROM `ranked` WHERE `r` <= 10) SELECT `i0`, COUNT(*) AS `n` FROM `kept` GROUP BY `i0`;

-- rows of an item of two columns, bounded, of some rows
CACHE TABLE `pairs` AS SELECT `u`, `i0`, `i1`, `z1`, LEAST(COUNT(*), 3) AS `m` FROM (SELECT `u`, `i0`, `i1`, CASE WHEN `i1` = 0 THEN CAST(`i1` AS STRING) LIKE '-%' ELSE FALSE END AS `z1` FROM (SELECT `user_id` AS `u`, CASE WHEN IS_VALID_UTF8(`query`) THEN `query` END COLLATE `UTF8_BINARY` AS `i0`, NULLIF(`price`, CAST('NaN' AS DOUBLE)) AS `i1` FROM (SELECT `user_id`, `query`, `price` FROM (SELECT `user_id` AS `user_id`, CASE WHEN IS_VALID_UTF8(`query`) THEN `query` END COLLATE `UTF8_BINARY` AS `query`, NULLIF(`price`, CAST('NaN' AS DOUBLE)) AS `price`, CASE WHEN `day` BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN `day` END AS `day` FROM `unlisted_source` AS `unlisted_source`) AS `named` WHERE `day` >= CAST('2024-02-29' AS DATE)) AS `unlisted_source`) AS `rows` WHERE NOT `u` IS NULL AND NOT `i0` IS NULL AND NOT `i1` IS NULL AND OCTET_LENGTH(`i0`) <= 1024) AS `good` GROUP BY `u`, `i0`, `i1`, `z1`;
CACHE TABLE `heavy` AS SELECT `u` AS `h`, 'AAAAAAAAAAAAAAAAAAAAAA' || CAST(OCTET_LENGTH(CAST(`u` AS STRING)) AS STRING) || ':' || CAST(`u` AS STRING) || ':' AS `prefix` FROM `pairs` GROUP BY `u` HAVING COUNT(*) > 10;
WITH `keyed` AS (SELECT `u`, `i0`, `i1`, `z1`, `m`, LEFT(SHA2(`prefix` || CAST(OCTET_LENGTH(`i0`) AS STRING) || ':' || `i0` || CAST(`i1` AS STRING), 256), 12) AS `k` FROM `pairs` JOIN `heavy` ON `u` = `h`), `ranked` AS (SELECT `i0`, `i1`, `z1`, `m`, COUNT(*) OVER (PARTITION BY `u` ORDER BY `k` NULLS LAST) AS `r` FROM `keyed`), `kept` AS (SELECT `i0`, `i1`, `z1`, `m` FROM `pairs` WHERE NOT EXISTS(SELECT 1 FROM `heavy` WHERE `h` = `u`) UNION ALL SELECT `i0`, `i1`, `z1`, `m` FROM `ranked` WHERE `r` <= 10) SELECT `i0`, `i1`, `z1`, CAST(SUM(`m`) AS BIGINT) AS `n` FROM `kept` GROUP BY `i0`, `i1`, `z1`;

-- largest counts, unbounded
SELECT `i0`, `n` FROM (SELECT `i0`, COUNT(*) AS `n` FROM (SELECT DISTINCT `u`, `i0` FROM (SELECT `u`, `i0` FROM (SELECT `user_id` AS `u`, CASE WHEN IS_VALID_UTF8(`query`) THEN `query` END COLLATE `UTF8_BINARY` AS `i0` FROM `unlisted_source` AS `unlisted_source`) AS `rows` WHERE NOT `u` IS NULL AND NOT `i0` IS NULL AND OCTET_LENGTH(`i0`) <= 1024) AS `good`) AS `pairs` GROUP BY `i0`) AS `counts` ORDER BY `n` DESC, `i0` NULLS LAST LIMIT 1001;

-- how many labels have each small count
SELECT `n`, COUNT(*) AS `labels` FROM `unlisted_bounded` WHERE `n` <= 20 GROUP BY `n`;

-- labels above the cut
SELECT `i0`, `n` FROM `unlisted_bounded` WHERE `n` > 20;

-- labels at wanted ranks
SELECT `position`, `i0` FROM (SELECT `i0`, `n`, ROW_NUMBER() OVER (PARTITION BY `n` ORDER BY `i0` NULLS LAST) - 1 AS `rank` FROM `unlisted_bounded` WHERE `n` IN (SELECT `count` FROM `unlisted_wanted`)) AS `ranked` JOIN `unlisted_wanted` ON `n` = `count` AND `rank` = `at`;

