-- Rows that two relations do not hold equally often (NULLs are equal). No rows: one is a copy of the other.
-- The rows of a policy with an entity are audited before they are written, with their entities beside them; what was
-- written must hold the same rows, as often, and no others.
--
-- staged        written       other_rows
-- 20-29 | 1*    20-29 | 1*    1            <- the second copy of 20-29 is lacking
-- 20-29 | 1*    30-39 | 1*
-- 30-39 | 1*
SELECT
  1 AS records
FROM (
  SELECT
    released_column,
    1 AS sqlanon_copies
  FROM staged
  UNION ALL
  SELECT
    released_column,
    -1 AS sqlanon_copies
  FROM written
) AS compared
GROUP BY
  compared.released_column
HAVING
  SUM(sqlanon_copies) <> 0
