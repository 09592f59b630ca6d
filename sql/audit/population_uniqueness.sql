-- The classes of one record, unless the estimate of how many are unique in the population is low enough (:holds = 1),
-- which is computed from sizes_of_classes.sql. No rows: it is, or nobody is alone. Sizes only, never values.
--
-- release             population_uniqueness, :holds = 0
-- age                 records
-- 20-29               1
-- 30-39
-- 30-39
SELECT
  COUNT(*) AS records
FROM release
GROUP BY
  release.quasi_identifier
HAVING
  COUNT(*) = 1 AND :holds = 0
