-- Rows of one relation that another lacks, copy by copy (NULLs are equal). No rows: the other holds them all.
-- The release of a policy with an entity is audited before it is written, with the entities beside its rows; what was
-- written must hold the same rows, and those alone.
--
-- staged        written       lacking_rows
-- 20-29 | 1*    20-29 | 1*    1            <- the second copy
-- 20-29 | 1*    30-39 | 1*
-- 30-39 | 1*
SELECT
  1 AS records
FROM (
  SELECT
    released_column
  FROM staged
  EXCEPT ALL
  SELECT
    released_column
  FROM written
) AS lacking
