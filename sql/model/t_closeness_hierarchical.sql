-- t-closeness, hierarchical distance: the earth mover's distance of a class from all records, where moving one record
-- between two values costs the level of their lowest common ancestor over the levels of the hierarchy below its root
-- (:levels). It is the mean over these levels of the equal distance between the generalized values:
--
--   1/:levels * Σ over levels ½ Σ |p - P| over the ancestors of the level
--
-- ancestors: per value, level and ancestor, with the ancestor's share among all records, and per value the distance of
-- that value alone. fails, min_suppressed: see t_closeness_equal.sql.
--
-- histogram              ancestors                                         distance of 30-39, :levels = 2
-- class | value | n      value | level | ancestor | share | alone         level 0: 1 - 0.25 = 0.75
-- 30-39 | flu   | 3      flu   | 0     | flu      | 0.25  | 0.625         level 1: 1 - 0.5  = 0.5
--                        flu   | 1     | airways  | 0.5   | 0.625         mean 0.625
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
    SUM(GREATEST(CAST(shares.n AS DOUBLE) / classes.n - shares.share, 0)) / :levels AS distance,
    MAX(shares.alone) AS farthest
  FROM (
    SELECT
      class_key,
      ancestors.level AS level,
      ancestors.ancestor AS ancestor,
      MAX(ancestors.share) AS share,
      MAX(ancestors.alone) AS alone,
      SUM(histogram.n) AS n
    FROM histogram
    JOIN ancestors
      ON ancestors.value = histogram.value
    GROUP BY
      class_key,
      ancestors.level,
      ancestors.ancestor
  ) AS shares
  JOIN classes
    USING (class_key)
  GROUP BY
    class_key
) AS profile
