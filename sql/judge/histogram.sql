-- The records of every class by the value of one sensitive column.
--
-- Values and classes without records are absent.
-- parts: per node and part of a class its records n.
-- class_key: the node, and the words of the key without the bits of sensitive values; sensitive_value: the bits of this
-- column's value.
--
-- parts                              histogram
-- node | class | value | n           node | class | value | n
-- 0    | 20-29 | flu   | 2           0    | 20-29 | flu   | 2
-- 0    | 20-29 | cold  | 0
SELECT
  class_key,
  sensitive_value,
  CAST(SUM(n) AS BIGINT) AS n
FROM parts
WHERE
  n > 0
GROUP BY
  class_key,
  sensitive_value
