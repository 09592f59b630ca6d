-- One row about the groups of records of the release that agree in the quasi-identifiers and in some further columns: the
-- records that nobody shares all these with, and those whose group holds fewer than :k owners.
--
-- size: COUNT(*), or of rows that were counted before the SUM of their counts.
-- owners: the same, or with an entity COUNT(DISTINCT its column).
-- beside_column: the further columns.
--
-- release, beside_column: stay, :k = 3   alone_beside
-- age    | zip | stay                    alone | fewer
-- 20-29  | 1*  | 3                       1     | 3      <- alone: the third row; fewer: the first two as well
-- 20-29  | 1*  | 3
-- 20-29  | 1*  | 4
SELECT
  CAST(COALESCE(SUM(CASE WHEN held = 1 THEN records ELSE 0 END), 0) AS BIGINT) AS alone,
  CAST(COALESCE(SUM(records), 0) AS BIGINT) AS fewer
FROM (
  SELECT
    size AS records,
    owners AS held
  FROM release
  GROUP BY
    quasi_identifier,
    beside_column
  HAVING
    owners < :k
) AS small_groups
