-- δ-disclosure privacy: a class passes when |log2(q / p)| < δ for each of its sensitive values, q being the value's share
-- in the class and p its share among all records. :factor is 2^δ: a class fails when q >= :factor * p or
-- q * :factor <= p. Tolerance: a factor of 1 - 1e-12 and 1 + 1e-12, so that equality fails.
--
-- histogram              overall          delta_disclosure, :factor = 2
-- class | value | n      value | share    class | fails | min_suppressed
-- 20-29 | flu   | 1      flu   | 0.25     20-29 | 0     | 0     <- 1.33 times as frequent, 0.89 times
-- 20-29 | cold  | 2      cold  | 0.75     30-39 | 1     | 2     <- flu is three times as frequent
-- 30-39 | flu   | 3                       40-49 | 1     | 0     <- flu is too rare, which proves nothing
-- 30-39 | cold  | 1
-- 40-49 | flu   | 1
-- 40-49 | cold  | 9
--
-- min_suppressed: see capped_shares.sql; the cap of a value is :factor times its share among all records.
WITH capped AS (
  SELECT
    class_key,
    classes.n,
    histogram.n AS held,
    CASE
      WHEN CAST(histogram.n AS DOUBLE) / classes.n >= :factor * overall.share * (1 - 1e-12)
      THEN 1
      WHEN CAST(histogram.n AS DOUBLE) / classes.n * :factor <= overall.share * (1 + 1e-12)
      THEN 1
      ELSE 0
    END AS differs,
    CAST(CEIL(LEAST(:factor * overall.share * (1 + 1e-11), 1) * 1000000000) AS BIGINT) AS cap
  FROM histogram
  JOIN classes
    USING (class_key)
  JOIN overall
    ON overall.value = histogram.value
)
SELECT
  class_key,
  fails,
  min_suppressed
FROM model.capped_shares
