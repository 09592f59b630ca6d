-- The generalized values in the failing classes of every node, attribute by attribute.
--
-- A node that certainly counts more than :limit against the limit on suppression is no candidate: its costs are not asked
-- for.
-- judged: per node and class its records n, fails, and min_suppressed. levels: see levels.sql. totals: see totals.sql.
-- generalized_key: what an attribute's masks keep of the words of the key; certain: the count of totals that is held
-- against the limit.
--
-- judged                                               failing
-- node | age   | sex | n | fails | min_suppressed      node | attribute | level | value | n | min_suppressed
-- 0    | 20-29 | f   | 1 | 1     | 1                   0    | 0         | 2     | 20-29 | 3 | 2
-- 0    | 20-29 | m   | 2 | 1     | 1                   0    | 1         | 0     | f     | 1 | 1
--                                                      0    | 1         | 0     | m     | 2 | 1
SELECT
  levels.node,
  levels.attribute,
  levels.level,
  generalized_key,
  CAST(SUM(judged.n) AS BIGINT) AS n,
  CAST(SUM(judged.min_suppressed) AS BIGINT) AS min_suppressed
FROM judged
JOIN levels
  ON judged.node = levels.node
JOIN totals
  ON totals.node = levels.node AND totals.certain <= :limit
WHERE
  judged.fails = 1
GROUP BY
  levels.node,
  levels.attribute,
  levels.level,
  generalized_key
