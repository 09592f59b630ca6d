-- One row about the classes of a relation under the extended match: how many there are, their records, and the size of
-- the smallest.
--
-- release       class_sizes
-- age | zip     classes | records | smallest_class
-- 20  | 1*      2       | 3       | 1
-- 20  | 1*
-- 20  |
SELECT
  COUNT(*) AS classes,
  CAST(COALESCE(SUM(sqlanon_records), 0) AS BIGINT) AS records,
  MIN(sqlanon_records) AS smallest_class
FROM audit.classes AS classes
