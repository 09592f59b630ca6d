-- What the classes of every node come to: one row a node.
--
-- Of these counts a search asks for those that its models and its quality measure need.
-- judged: per node and class its records n (none, where only others than the subset have such a record: δ-presence), its
-- entities if they are counted, fails: 1 when any model fails it, and min_suppressed: at least so many of its records are
-- suppressed at every more special node too.
-- :size, :population: the least size of a class that can pass the models, and the number of all records.
-- attribute: -1. The rows of costs.sql, one an attribute, follow these.
--
-- judged                                        totals, :size = 2, :population = 4
-- node | class | n | fails | min_suppressed     node | classes | suppressed | min_suppressed | smallest | squares | …
-- 0    | 20-29 | 3 | 0     | 0                  0    | 1       | 1          | 1              | 3        | 9       | …
-- 0    | 30-39 | 1 | 1     | 1
SELECT
  node,
  CAST(-1 AS BIGINT) AS attribute,
  CAST(COUNT(*) AS BIGINT) AS grain,
  CAST(SUM(CASE WHEN n > 0 AND fails = 0 THEN 1 ELSE 0 END) AS BIGINT) AS classes,
  CAST(SUM(CASE WHEN n > 0 AND fails = 1 THEN n ELSE 0 END) AS BIGINT) AS suppressed,
  CAST(SUM(CASE WHEN n > 0 AND fails = 1 THEN min_suppressed ELSE 0 END) AS BIGINT) AS min_suppressed,
  MIN(CASE WHEN n > 0 AND fails = 0 THEN n END) AS smallest,
  MAX(CASE WHEN n > 0 AND fails = 0 THEN n END) AS largest,
  MIN(CASE WHEN n > 0 AND fails = 0 THEN entities END) AS smallest_entities,
  CAST(SUM(CASE WHEN n > 0 AND fails = 0 THEN CAST(n AS HUGEINT) * n ELSE 0 END) AS HUGEINT) AS squares,
  CAST(SUM(CAST(n AS HUGEINT) * GREATEST(n, CAST(:size AS BIGINT))) AS HUGEINT) AS spread,
  CAST(
    SUM(
      CASE
        WHEN n > 0 AND fails = 1
        THEN CAST(min_suppressed AS HUGEINT) * GREATEST(:population - GREATEST(n, CAST(:size AS BIGINT)), 0)
        ELSE 0
      END
    ) AS HUGEINT
  ) AS forced,
  CAST(SUM(CASE WHEN n >= CAST(:size AS BIGINT) THEN 1 ELSE 0 END) AS BIGINT) AS large,
  CAST(SUM(CASE WHEN n < CAST(:size AS BIGINT) THEN n ELSE 0 END) AS BIGINT) AS small_records,
  CAST(SUM(CASE WHEN n > 0 THEN 0 ELSE 1 END) AS BIGINT) AS public_only
FROM judged
GROUP BY
  node
