-- The number of rows of the release when it is not :expected. No rows: the release agrees with the ledger.
--
-- release           row_count, :expected = 3
-- age    | zip      rows_found
-- 20-29  | 1*       2
-- 20-29  | 1*
SELECT
  COUNT(*) AS rows_found
FROM release
HAVING
  COUNT(*) <> :expected
