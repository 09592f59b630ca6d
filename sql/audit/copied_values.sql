-- One row: the records of the source with a value in a column, and those whose other column reads the same.
--
-- source              copied_values
-- age | years         shared | guessed_right
-- 34  | 34            2      | 1
-- 35  | 36
--     | 37
SELECT
  COUNT(*) AS shared,
  CAST(COALESCE(SUM(CASE WHEN audited_column IS NOT DISTINCT FROM guessed THEN 1 ELSE 0 END), 0) AS BIGINT)
    AS guessed_right
FROM source
WHERE
  NOT audited_column IS NULL
