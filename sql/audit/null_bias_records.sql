-- The records of a relation, and those that the basic match keeps: without a NULL in any quasi-identifier.
--
-- release                  null_bias_records
-- age | zip | stay         records | kept
-- 20  | 1*  | 3            2       | 1
-- 20  |     | 9
SELECT
  COUNT(*) AS records,
  CAST(COALESCE(SUM(CASE WHEN ALL_OF(quasi_identifier IS NOT NULL) THEN 1 ELSE 0 END), 0) AS BIGINT) AS kept
FROM release
