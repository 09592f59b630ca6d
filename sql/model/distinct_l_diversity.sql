-- Distinct ℓ-diversity: a class passes when it holds at least :l distinct values of the sensitive attribute.
-- NULL is a value. fails, min_suppressed: see k_anonymity.sql; the parts of a class hold no more values than the class.
--
-- histogram                      distinct_l_diversity, :l = 2
-- class | value | n              class | fails | min_suppressed
-- 20-29 | flu   | 2              20-29 | 0     | 3
-- 20-29 | cold  | 1              30-39 | 1     | 4
-- 30-39 | flu   | 4
SELECT
  class_key,
  CASE WHEN COUNT(*) < :l THEN 1 ELSE 0 END AS fails,
  CAST(SUM(n) AS BIGINT) AS min_suppressed
FROM histogram
GROUP BY
  class_key
