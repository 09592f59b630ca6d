-- What the shares of a class's sensitive values are taken of: the entities of all values, summed.
--
-- An entity with several values counts for each, so these are no fewer than the entities of the class.
--
-- histogram                          weights
-- node | class | value | n           node | class | n
-- 0    | 20-29 | flu   | 2           0    | 20-29 | 3
-- 0    | 20-29 | cold  | 1
SELECT
  class_key,
  CAST(SUM(n) AS BIGINT) AS n
FROM histogram
GROUP BY
  class_key
