-- One row about the classes of a relation under the extended match: how many there are, how many hold fewer
-- than :k records, and how many records those hold.
--
-- release       class_sizes, :k = 2
-- age | zip     classes | records | failing_classes | failing_records | smallest_class
-- 20  | 1*      2       | 3       | 1               | 1               | 1
-- 20  | 1*
-- 20  |
SELECT
  COUNT(*) AS classes,
  CAST(COALESCE(SUM(records), 0) AS BIGINT) AS records,
  COUNT(CASE WHEN records < :k THEN 1 END) AS failing_classes,
  CAST(COALESCE(SUM(CASE WHEN records < :k THEN records END), 0) AS BIGINT) AS failing_records,
  MIN(records) AS smallest_class
FROM (
  SELECT
    COUNT(*) AS records
  FROM release
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS classes
