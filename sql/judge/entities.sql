-- The records of every class by the entity (a person, say) that they are of.
--
-- parts: per node, part of a class and entity its records n, and the records of the population (δ-presence).
-- class_key: the node, and the words of the key without the bits of sensitive values.
--
-- parts                                       entities
-- node | class | value | entity | n           node | class | entity | n
-- 0    | 20-29 | flu   | 7      | 2           0    | 20-29 | 7      | 3
-- 0    | 20-29 | cold  | 7      | 1
SELECT
  class_key,
  sqlanon_entity,
  CAST(SUM(n) AS BIGINT) AS n,
  CAST(SUM(population) AS BIGINT) AS population
FROM parts
GROUP BY
  class_key,
  sqlanon_entity
