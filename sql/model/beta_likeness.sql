-- β-likeness: a class passes when no sensitive value gains more than :beta: with q its share in the class and p its share
-- among all records, (q - p) / p is at most :beta. With :enhanced = 1 at most the lesser of :beta and -ln p. Tolerance: a
-- factor of 1 + 1e-12.
--
-- histogram              overall          beta_likeness, :beta = 1
-- class | value | n      value | share    class | fails | min_suppressed
-- 20-29 | flu   | 2      flu   | 0.25     20-29 | 0     | 0     <- (0.5 - 0.25) / 0.25 = 1
-- 20-29 | cold  | 2      cold  | 0.75     30-39 | 1     | 2     <- flu may be half of what is published: 1 and 1
-- 30-39 | flu   | 3
-- 30-39 | cold  | 1
--
-- min_suppressed: see capped_shares.sql; the cap of a value is its largest share that passes.
WITH capped AS (
  SELECT
    class_key,
    n,
    held,
    CASE WHEN CAST(held AS DOUBLE) / n > largest * (1 + 1e-12) THEN 1 ELSE 0 END AS differs,
    CAST(CEIL(LEAST(largest * (1 + 1e-11), 1) * 1000000000) AS BIGINT) AS cap
  FROM (
    SELECT
      class_key,
      classes.n,
      histogram.n AS held,
      (1 + CASE WHEN :enhanced = 1 AND -LN(overall.share) < :beta THEN -LN(overall.share) ELSE :beta END)
        * overall.share AS largest
    FROM histogram
    JOIN classes
      USING (class_key)
    JOIN overall
      ON overall.value = histogram.value
  ) AS compared
)
SELECT
  class_key,
  fails,
  min_suppressed
FROM model.capped_shares
