-- One row: the entities with several records in the release, and those of them whose records agree in a column.
--
-- release                constant_values
-- person_id | blood      several | constant
-- 7         | A          2       | 1
-- 7         | A
-- 8         | B
-- 8         |
-- 9         | B
SELECT
  COUNT(*) AS several,
  CAST(COALESCE(SUM(CASE WHEN given = 0 OR (given = records AND lowest = highest) THEN 1 ELSE 0 END), 0) AS BIGINT)
    AS constant
FROM (
  SELECT
    COUNT(*) AS records,
    COUNT(audited_column) AS given,
    MIN(CAST(audited_column AS TEXT)) AS lowest,
    MAX(CAST(audited_column AS TEXT)) AS highest
  FROM release
  GROUP BY
    entity
  HAVING
    COUNT(*) > 1
) AS entities
