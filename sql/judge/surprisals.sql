-- The sums of n ln n over the generalized values of suppressed records, per node and attribute (0 ln 0 = 0).
--
-- min_cost_0: the same over the records that are certain to be suppressed at every more special node.
-- failing: see failing.sql. no_counts: a NULL for every count of totals.sql.
--
-- failing                                                      surprisals
-- node | attribute | level | value | n | min_suppressed        node | attribute | cost | min_cost_0
-- 0    | 0         | 1     | 20-29 | 3 | 2                     0    | 0         | 3.30 | 1.39
-- 0    | 0         | 1     | 30-39 | 1 | 0
SELECT
  failing.node,
  failing.attribute,
  no_counts,
  SUM(CASE WHEN n > 0 THEN n * LN(n) ELSE CAST(0 AS DOUBLE) END) AS cost,
  SUM(CASE WHEN min_suppressed > 0 THEN min_suppressed * LN(min_suppressed) ELSE CAST(0 AS DOUBLE) END) AS min_cost_0
FROM failing
GROUP BY
  failing.node,
  failing.attribute
