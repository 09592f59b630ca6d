-- The number of fully redacted rows when it is not :expected. No rows: as many as the ledger suppressed.
--
-- release                        redacted_count, :marker = '[suppressed]', :expected = 2
-- age          | zip             rows_found
-- [suppressed] | [suppressed]    1
-- 20-29        | 1*
SELECT
  COUNT(*) AS rows_found
FROM release
WHERE
  ALL_OF(released_column IS NOT DISTINCT FROM :marker)
HAVING
  COUNT(*) <> :expected
