-- The Kolmogorov-Smirnov distance of one ordered column between all records and those that the basic match keeps, NULL
-- left out, as an exact numerator: the greatest |n M - m N|, where n of the N records and m of the M kept ones are at
-- most the value. Counts only, never values.
--
-- release                  null_bias_order of stay
-- age | zip | stay         distance | records | kept
-- 20  | 1*  | 3            1        | 2       | 1         <- 1/2 of all are at most 3, all of the kept ones
-- 20  |     | 9
WITH sqlanon_counted AS MATERIALIZED (
  SELECT
    audited_column AS sqlanon_value,
    COUNT(*) AS sqlanon_n,
    CAST(SUM(CASE WHEN ALL_OF(quasi_identifier IS NOT NULL) THEN 1 ELSE 0 END) AS BIGINT) AS sqlanon_m
  FROM release
  WHERE
    NOT audited_column IS NULL
  GROUP BY
    audited_column
), sqlanon_totals AS (
  SELECT
    CAST(SUM(sqlanon_n) AS HUGEINT) AS sqlanon_records,
    CAST(SUM(sqlanon_m) AS HUGEINT) AS sqlanon_kept
  FROM sqlanon_counted
), sqlanon_running AS (
  SELECT
    SUM(sqlanon_n) OVER (ORDER BY sqlanon_value) AS sqlanon_n,
    SUM(sqlanon_m) OVER (ORDER BY sqlanon_value) AS sqlanon_m
  FROM sqlanon_counted
)
SELECT
  MAX(ABS(running.sqlanon_n * totals.sqlanon_kept - running.sqlanon_m * totals.sqlanon_records)) AS distance,
  CAST(MAX(totals.sqlanon_records) AS BIGINT) AS records,
  CAST(MAX(totals.sqlanon_kept) AS BIGINT) AS kept
FROM sqlanon_running AS running
CROSS JOIN sqlanon_totals AS totals
