-- The classes of some nodes, counted in distinct entities.
--
-- entities: per node, class and entity the entity's records n, and its records in the population (δ-presence, k-map).
-- n: the entities with a record (of the subset); population: those with a record of the population.
-- records: the records of the class.
--
-- entities                                     classes
-- node | class | entity | n | population       node | class | n | population | records
-- 0    | 20-29 | 7      | 3 | 5                0    | 20-29 | 1 | 2          | 3
-- 0    | 20-29 | 8      | 0 | 1
SELECT
  class_key,
  CAST(SUM(CASE WHEN n > 0 THEN 1 ELSE 0 END) AS BIGINT) AS n,
  CAST(SUM(CASE WHEN population > 0 THEN 1 ELSE 0 END) AS BIGINT) AS population,
  CAST(SUM(n) AS BIGINT) AS records
FROM entities
GROUP BY
  class_key
