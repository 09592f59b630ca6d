-- How many classes of a relation have how many records (extended match): one row a size.
--
-- relation: the records that take part. Without quasi-identifiers all records are one class.
--
-- relation      class_sizes
-- age | zip     size | classes
-- 20  | 1*      1    | 1
-- 20  | 1*      2    | 1
-- 20  |
SELECT
  size,
  CAST(COUNT(*) AS BIGINT) AS classes
FROM (
  SELECT
    CAST(COUNT(*) AS BIGINT) AS size
  FROM relation
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS classes
GROUP BY
  size
