-- What the classes of nodes come to, for the verification of a certificate.
--
-- judged: per class its node, its records n, fails: 1 when any model fails it, and min_suppressed: at least so many of its
-- records are suppressed at every more special node, too.
-- :size, :population: the least size of a class that can pass the models, and the number of all records.
--
-- judged                              node_counts, :size = 2, :population = 4
-- node | n | fails | min_suppressed   node | grain | classes | suppressed | min_suppressed | smallest | largest | …
-- 0    | 3 | 0     | 0                0    | 2     | 1       | 1          | 1              | 3        | 3       | …
-- 0    | 1 | 1     | 1
SELECT
  node,
  COUNT(*) AS grain,
  COUNT(*) FILTER (WHERE fails = 0 AND n > 0) AS classes,
  COALESCE(SUM(n) FILTER (WHERE fails = 1 AND n > 0), 0) AS suppressed,
  COALESCE(SUM(min_suppressed) FILTER (WHERE fails = 1 AND n > 0), 0) AS min_suppressed,
  MIN(n) FILTER (WHERE fails = 0 AND n > 0) AS smallest,
  MAX(n) FILTER (WHERE fails = 0 AND n > 0) AS largest,
  COALESCE(SUM(CAST(n AS HUGEINT) * n) FILTER (WHERE fails = 0), 0) AS squares,
  COALESCE(SUM(CAST(n AS HUGEINT) * GREATEST(n, :size)), 0) AS spread,
  COALESCE(
    SUM(CAST(min_suppressed AS HUGEINT) * GREATEST(:population - GREATEST(n, :size), 0)) FILTER (WHERE fails = 1 AND n > 0),
    0
  ) AS forced,
  COUNT(*) FILTER (WHERE n >= :size) AS large,
  COALESCE(SUM(n) FILTER (WHERE n < :size), 0) AS small_records,
  COUNT(*) FILTER (WHERE n = 0) AS public_only
FROM judged
GROUP BY
  node
