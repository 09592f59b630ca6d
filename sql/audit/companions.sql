-- Per published value (or class) beside which different numbers or dates stand, the number of its records; never the
-- value. No rows: what is published beside a value is determined by it, so that classes stay what they are.
-- GROUP BY treats NULLs as equal; NULL differs from every number and date.
--
-- release                          companions, audited_column = age, companion = age_low, age_high
-- age      | age_low | age_high    records
-- [20, 25) | 20      | 24          2            <- the value [20, 25)
-- [20, 25) | 21      | 24
-- [25, 30) | 25      | 29
SELECT
  COUNT(*) AS records
FROM release
GROUP BY
  release.audited_column
HAVING
  ANY_OF(
    COUNT(DISTINCT release.companion) > 1
    OR (COUNT(release.companion) > 0 AND COUNT(release.companion) < COUNT(*))
  )
