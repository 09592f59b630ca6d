-- Records of the release with a NULL in a quasi-identifier. No rows: the basic match holds, which leaves
-- every record with such a NULL out of the release.
--
-- release                      null_records
-- age    | zip | diagnosis     offence
-- 20-29  | 1*  |               1            <- the second record
-- 20-29  |     | flu
SELECT
  1 AS offence
FROM release
WHERE
  ANY_OF(quasi_identifier IS NULL)
