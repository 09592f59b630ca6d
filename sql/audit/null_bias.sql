-- How the distribution of one column changes when the records with a NULL in a quasi-identifier are excluded (basic
-- match): once with NULL as a value of its own (with_null 1), once among the records where the column is not NULL
-- (with_null 0).
-- With n the records and m the kept ones of a value, N and M those of all values:
--   difference  Σ |n M - m N|, largest the greatest of them; exact, over N M they are shares
--   squares     Σ (n M - m N)² / n, over M (N - M) the chi-square statistic of kept against the column
--   spread      Σ √(n (N - n)), for what chance alone would change
--   sparse      values of which fewer than 5 records are expected among the kept or the excluded ones
-- Counts and sums only, never values.
--
-- release                  null_bias of stay
-- age | zip | stay         with_null | records | kept | distinct | kept_distinct | difference | largest | …
-- 20  | 1*  | 3            0         | 2       | 1    | 2        | 1             | 2          | 1
-- 20  |     | 9            1         | 2       | 1    | 2        | 1             | 2          | 1
WITH sqlanon_counted AS MATERIALIZED (
  SELECT
    audited_column AS sqlanon_value,
    COUNT(*) AS sqlanon_n,
    CAST(SUM(CASE WHEN ALL_OF(quasi_identifier IS NOT NULL) THEN 1 ELSE 0 END) AS BIGINT) AS sqlanon_m
  FROM release
  GROUP BY
    audited_column
), sqlanon_totals AS MATERIALIZED (
  SELECT
    1 AS with_null,
    CAST(SUM(sqlanon_n) AS HUGEINT) AS sqlanon_records,
    CAST(SUM(sqlanon_m) AS HUGEINT) AS sqlanon_kept
  FROM sqlanon_counted
  UNION ALL
  SELECT
    0 AS with_null,
    CAST(SUM(sqlanon_n) AS HUGEINT) AS sqlanon_records,
    CAST(SUM(sqlanon_m) AS HUGEINT) AS sqlanon_kept
  FROM sqlanon_counted
  WHERE
    NOT sqlanon_value IS NULL
), sqlanon_compared AS (
  SELECT
    totals.with_null AS with_null,
    totals.sqlanon_records AS sqlanon_records,
    totals.sqlanon_kept AS sqlanon_kept,
    counted.sqlanon_n AS sqlanon_n,
    counted.sqlanon_m AS sqlanon_m,
    ABS(counted.sqlanon_n * totals.sqlanon_kept - counted.sqlanon_m * totals.sqlanon_records) AS sqlanon_difference
  FROM sqlanon_counted AS counted
  INNER JOIN sqlanon_totals AS totals
    ON totals.with_null = 1 OR NOT counted.sqlanon_value IS NULL
)
SELECT
  with_null,
  CAST(sqlanon_records AS BIGINT) AS records,
  CAST(sqlanon_kept AS BIGINT) AS kept,
  COUNT(*) AS "distinct",
  CAST(SUM(CASE WHEN sqlanon_m > 0 THEN 1 ELSE 0 END) AS BIGINT) AS kept_distinct,
  SUM(sqlanon_difference) AS difference,
  MAX(sqlanon_difference) AS largest,
  SUM(CAST(sqlanon_difference AS DOUBLE) * CAST(sqlanon_difference AS DOUBLE) / sqlanon_n) AS squares,
  SUM(SQRT(CAST(sqlanon_n AS DOUBLE) * CAST(sqlanon_records - sqlanon_n AS DOUBLE))) AS spread,
  CAST(
    SUM(
      CASE
        WHEN sqlanon_n * LEAST(sqlanon_kept, sqlanon_records - sqlanon_kept) < 5 * sqlanon_records THEN 1 ELSE 0
      END
    ) AS BIGINT
  ) AS sparse
FROM sqlanon_compared
GROUP BY
  with_null,
  sqlanon_records,
  sqlanon_kept
ORDER BY
  with_null
