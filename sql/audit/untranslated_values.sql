-- Per published value of one quasi-identifier that is none of the texts of its level, the number of records
-- that hold it; the value itself is not returned. No rows: every value passed through its hierarchy.
-- The texts of the level take the type of the released column first, then both sides are compared as text.
--
-- release     lookup      untranslated_values
-- zip         value       records
-- 1*          1*          1               <- the value 12
-- 1*          2*
-- 12
SELECT
  released.sqlanon_records AS records
FROM (
  SELECT
    CAST(audited_column AS TEXT) AS sqlanon_value,
    COUNT(*) AS sqlanon_records
  FROM release
  GROUP BY
    CAST(audited_column AS TEXT)
) AS released
LEFT JOIN (
  SELECT DISTINCT
    CAST(AS_RELEASED(lookup.value) AS TEXT) AS value,
    1 AS listed
  FROM lookup
) AS texts
  ON texts.value IS NOT DISTINCT FROM released.sqlanon_value
WHERE
  texts.listed IS NULL
