-- One row: the classes of the release, and those that hold fewer than :k values of a column, which may be the entity of
-- the records: such a class is of fewer than :k persons, however many records it has.
--
-- release, :k = 2               classes_by_values
-- age    | zip | person         classes | fewer
-- 20-29  | 1*  | 7              2       | 1      <- the class of the first two rows
-- 20-29  | 1*  | 7
-- 30-39  | 1*  | 7
-- 30-39  | 1*  | 8
SELECT
  COUNT(*) AS classes,
  CAST(COALESCE(SUM(CASE WHEN held < :k THEN 1 ELSE 0 END), 0) AS BIGINT) AS fewer
FROM (
  SELECT
    COUNT(DISTINCT audited_column) AS held
  FROM release
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS classes
