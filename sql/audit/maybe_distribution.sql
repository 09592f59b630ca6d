-- The records in classes of low to high records, under each of the three matches. Sizes only, never values.
--
-- sizes: per class of a relation what audit/maybe_match.sql returns. bucket: low and high.
--
-- sizes                              bucket          maybe_distribution
-- records | right_maybe | maybe      low | high      low | high | records | right_maybe | maybe
-- 2       | 3           | 3          1   | 1         1   | 1    | 1       | 1           | 0
-- 1       | 1           | 3          2   | 3         2   | 3    | 2       | 2           | 3
SELECT
  bucket.low AS low,
  bucket.high AS high,
  CAST(SUM(CASE WHEN sizes.records BETWEEN bucket.low AND bucket.high THEN sizes.records ELSE 0 END) AS BIGINT)
    AS records,
  CAST(SUM(CASE WHEN sizes.right_maybe BETWEEN bucket.low AND bucket.high THEN sizes.records ELSE 0 END) AS BIGINT)
    AS right_maybe,
  CAST(SUM(CASE WHEN sizes.maybe BETWEEN bucket.low AND bucket.high THEN sizes.records ELSE 0 END) AS BIGINT) AS maybe
FROM sizes
CROSS JOIN bucket
GROUP BY
  bucket.low,
  bucket.high
ORDER BY
  bucket.low
