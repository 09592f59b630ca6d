-- The distinct entities of every class by the value of one sensitive column.
--
-- An entity with several values in a class counts once for each of them.
-- parts: per node, part of a class and entity its records n.
-- part_key: the node, and the words of the key without the bits of sensitive values; class_key: the same columns, once
-- they are computed. sensitive_value: the bits of this column's value.
--
-- parts                                       histogram
-- node | class | value | entity | n           node | class | value | n
-- 0    | 20-29 | flu   | 7      | 2           0    | 20-29 | flu   | 2
-- 0    | 20-29 | flu   | 8      | 1           0    | 20-29 | cold  | 1
-- 0    | 20-29 | cold  | 7      | 1
SELECT
  class_key,
  value,
  CAST(COUNT(*) AS BIGINT) AS n
FROM (
  SELECT DISTINCT
    part_key,
    sensitive_value,
    sqlanon_entity
  FROM parts
  WHERE
    n > 0
) AS seen
GROUP BY
  class_key,
  value
