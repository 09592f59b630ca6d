-- t-closeness, equal distance: a class passes when ½ Σ |p - P| over the sensitive values is at most :t, p being a
-- value's share in the class and P its share among all records. That sum is Σ (p - P) over the values whose share is
-- larger in the class, so values that the class lacks need not be looked at. Tolerance 1e-12.
--
-- histogram              overall          t_closeness_equal, :t = 0.3
-- class | value | n      value | share    class | fails
-- 20-29 | flu   | 2      flu   | 0.5      20-29 | 0     <- 2/3 - 1/2 = 0.17
-- 20-29 | cold  | 1      cold  | 0.5      30-39 | 1     <- 1 - 1/2
-- 30-39 | flu   | 3
--
-- min_suppressed: n * (distance - t) / (farthest - t), farthest being the largest distance of a single value of the class:
-- the distance is convex, so what is published brings the class at most that close. Computed with distances off by 1e-11
-- and rounded down by 1e-9 of n first, so that floating error cannot make it too large.
SELECT
  class_key,
  CASE WHEN distance > :t + 1e-12 THEN 1 ELSE 0 END AS fails,
  CASE
    WHEN distance > :t + 1e-12
    THEN CAST(CEIL(n * GREATEST((distance - :t - 1e-11) / (farthest - :t + 1e-11) - 1e-9, 0)) AS BIGINT)
    ELSE 0
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    MAX(classes.n) AS n,
    SUM(GREATEST(CAST(histogram.n AS DOUBLE) / classes.n - overall.share, 0)) AS distance,
    1 - MIN(overall.share) AS farthest
  FROM histogram
  JOIN classes
    USING (class_key)
  JOIN overall
    ON overall.value = histogram.value
  GROUP BY
    class_key
) AS profile
