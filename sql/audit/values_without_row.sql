-- Per value of a column that has no row in its lookup, or none with a place in the hierarchy, the number of records that
-- hold it; the value itself is not returned. No rows: every value has its place.
-- reference: value (text) and records; lookup: value (text) and covered (1: it has a place). NULL is a value.
--
-- reference          lookup             values_without_row
-- value | records    value | covered    records
-- flu   | 5          flu   | 1          2            <- the value cold
-- cold  | 2
SELECT
  reference.records AS records
FROM reference
LEFT JOIN (
  SELECT
    value AS sqlanon_text,
    1 AS sqlanon_placed
  FROM lookup
  WHERE
    covered = 1
) AS places
  ON places.sqlanon_text IS NOT DISTINCT FROM reference.value
WHERE
  places.sqlanon_placed IS NULL
