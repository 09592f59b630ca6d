-- Per rule that publishes records, in order, and last for the suppressed ones (no rule): its classes by their sizes.
-- published: every class with its rule (NULL: suppressed) and its records, n.
--
-- published    by_rule
-- rule | n     rule | records | classes | smallest | largest
-- 0    | 5     0    | 8       | 2       | 3        | 5
-- 0    | 3     NULL | 2       | 1       | 2        | 2
-- NULL | 2
SELECT
  published.rule,
  CAST(COALESCE(SUM(published.n), 0) AS BIGINT) AS records,
  CAST(COUNT(*) AS BIGINT) AS classes,
  MIN(published.n) AS smallest,
  MAX(published.n) AS largest
FROM published
GROUP BY
  published.rule
ORDER BY
  published.rule NULLS LAST
