-- Rows that hold the marker in some columns, but not in all. No rows: nothing of a redacted record remains,
-- and no published value reads like the marker. A NULL differs from the marker.
--
-- release                                  redacted_rows, :marker = '[suppressed]'
-- age          | zip          | diagnosis     offence
-- [suppressed] | [suppressed] | [suppressed]  1        <- the second row
-- [suppressed] | [suppressed] |
-- 20-29        | 1*           | flu
SELECT
  1 AS offence
FROM release
WHERE
  ANY_OF(released_column IS NOT DISTINCT FROM :marker)
  AND ANY_OF(released_column IS DISTINCT FROM :marker)
