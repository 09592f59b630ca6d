-- hospital_rules/max_share.sql
-- A class fails when its most frequent value has more than the share :numerator / :denominator of its records.
--
-- histogram                      max_share, share = 1/2
-- class | value | n              class | fails | min_suppressed
-- 20-29 | flu   | 2              20-29 | 0     | 0
-- 20-29 | cold  | 2              30-39 | 1     | 3     <- flu must fall from 4 to 1
-- 30-39 | flu   | 4
-- 30-39 | cold  | 1
SELECT
  class_key,
  CASE WHEN largest * :denominator > n * :numerator THEN 1 ELSE 0 END AS fails,
  CASE
    WHEN distinct_values * :numerator < :denominator
    THEN n
    ELSE CAST(
      (largest * :denominator - n * :numerator + :denominator - :numerator - 1)
      // GREATEST(:denominator - :numerator, 1) AS BIGINT
    )
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    CAST(SUM(n) AS HUGEINT) AS n,
    CAST(MAX(n) AS HUGEINT) AS largest,
    CAST(COUNT(*) AS HUGEINT) AS distinct_values
  FROM histogram
  GROUP BY
    class_key
) AS profile
