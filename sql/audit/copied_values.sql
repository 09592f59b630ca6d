-- One row: the records of the source with a value in a column, and those of them whose other column reads the same.
-- The counts of many pairs of columns are one row too.
--
-- source              copied_values
-- age | years         shared | guessed_right
-- 34  | 34            2      | 1
-- 35  | 36
--     | 37
SELECT
  COUNT(audited_column) AS shared,
  CAST(COALESCE(SUM(CASE WHEN audited_column = guessed THEN 1 ELSE 0 END), 0) AS BIGINT) AS guessed_right
FROM source
