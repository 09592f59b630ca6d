-- The classes of some nodes, from parts that differ in sensitive values too.
--
-- parts: per node and part of a class its records n, and the records of the population beside them (δ-presence).
-- class_key: the node, and the words of the key without the bits of sensitive values.
--
-- parts                              classes
-- node | class | value | n           node | class | n
-- 0    | 20-29 | flu   | 2           0    | 20-29 | 3
-- 0    | 20-29 | cold  | 1
SELECT
  class_key,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(SUM(population) AS BIGINT) AS population
FROM parts
GROUP BY
  class_key
