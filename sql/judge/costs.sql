-- What suppression costs, per node and attribute, in leaves of the hierarchy.
--
-- cost: the sum of D - leaves over the suppressed records. min_cost_<level>: at least that sum over the records that are
-- certain to be suppressed at every more special node, at that level.
-- failing: see failing.sql. leaf: per attribute, level and generalized value its D - leaves (cost), and the least of that
-- among the values below it (cost_0, cost_1, …).
-- no_counts: a NULL for every count of totals.sql. min_costs: at each level, the sum of min_suppressed * cost_<level>.
--
-- failing                                               leaf, D = 10              costs
-- node | attribute | level | value | n | min_sup…       … | value | cost | cost_0   node | attribute | cost | min_cost_0
-- 0    | 0         | 1     | 20-29 | 3 | 2              … | 20-29 | 5    | 9        0    | 0         | 15   | 18
SELECT
  failing.node,
  failing.attribute,
  no_counts,
  CAST(SUM(failing.n * leaf.cost) AS BIGINT) AS cost,
  min_costs
FROM failing
JOIN leaf
  ON failing.attribute = leaf.attribute
  AND failing.level = leaf.level
  AND ALL_OF(failing.class_key = leaf.class_key)
GROUP BY
  failing.node,
  failing.attribute
