-- The records of a release: its rows without the redacted ones, which form no class.
--
-- release                        records, :marker = '[suppressed]'
-- age          | zip             age   | zip
-- [suppressed] | [suppressed]    20-29 | 1*
-- 20-29        | 1*
SELECT
  released_column
FROM release
WHERE
  ANY_OF(released_column IS DISTINCT FROM :marker)
