-- Mean and standard deviation (divided by the number of records) of one numeric column, among all records and among
-- those that the basic match keeps; NULL, NaN and infinite values left out. varied: how many of the three sets (all,
-- kept, excluded) hold at least two values: in the others the mean is a value itself.
--
-- release                  null_bias_numbers of stay
-- age | zip | stay         records | kept | varied | mean | kept_mean | deviation | kept_deviation
-- 20  | 1*  | 3            2       | 1    | 1      | 6    | 3         | 3         | 0
-- 20  |     | 9
WITH sqlanon_counted AS MATERIALIZED (
  SELECT
    CAST(audited_column AS DOUBLE) AS sqlanon_value,
    COUNT(*) AS sqlanon_n,
    CAST(SUM(CASE WHEN ALL_OF(quasi_identifier IS NOT NULL) THEN 1 ELSE 0 END) AS BIGINT) AS sqlanon_m
  FROM release
  WHERE
    ISFINITE(CAST(audited_column AS DOUBLE))
  GROUP BY
    CAST(audited_column AS DOUBLE)
), sqlanon_means AS (
  SELECT
    CAST(SUM(sqlanon_n) AS BIGINT) AS sqlanon_records,
    CAST(SUM(sqlanon_m) AS BIGINT) AS sqlanon_kept,
    CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END
      + CASE WHEN SUM(CASE WHEN sqlanon_m > 0 THEN 1 ELSE 0 END) > 1 THEN 1 ELSE 0 END
      + CASE WHEN SUM(CASE WHEN sqlanon_n > sqlanon_m THEN 1 ELSE 0 END) > 1 THEN 1 ELSE 0 END AS sqlanon_varied,
    SUM(sqlanon_value * sqlanon_n) / SUM(sqlanon_n) AS sqlanon_mean,
    SUM(sqlanon_value * sqlanon_m) / NULLIF(SUM(sqlanon_m), 0) AS sqlanon_kept_mean
  FROM sqlanon_counted
)
SELECT
  means.sqlanon_records AS records,
  means.sqlanon_kept AS kept,
  means.sqlanon_varied AS varied,
  means.sqlanon_mean AS mean,
  means.sqlanon_kept_mean AS kept_mean,
  SQRT(
    SUM(counted.sqlanon_n * (counted.sqlanon_value - means.sqlanon_mean) * (counted.sqlanon_value - means.sqlanon_mean))
      / means.sqlanon_records
  ) AS deviation,
  SQRT(
    SUM(
      counted.sqlanon_m
        * (counted.sqlanon_value - means.sqlanon_kept_mean)
        * (counted.sqlanon_value - means.sqlanon_kept_mean)
    ) / NULLIF(means.sqlanon_kept, 0)
  ) AS kept_deviation
FROM sqlanon_counted AS counted
CROSS JOIN sqlanon_means AS means
GROUP BY
  means.sqlanon_records,
  means.sqlanon_kept,
  means.sqlanon_varied,
  means.sqlanon_mean,
  means.sqlanon_kept_mean
