-- Classes of the release that fewer than :k records of the population belong to. No rows: k-map holds for what is
-- published. Sizes only, never values.
-- population: the quasi-identifiers, generalized as in the release, and sqlanon_count, their number of records.
--
-- release                     population                       k_map, :k = 3
-- age   | zip | diagnosis     age   | zip | sqlanon_count      records
-- 20-29 | 1*  | flu           20-29 | 1*  | 2                  2            <- two of the population
-- 20-29 | 1*  | cold
SELECT
  released.sqlanon_records AS records
FROM audit.classes AS released
LEFT JOIN population AS everyone
  ON ALL_OF(CAST(released.quasi_identifier AS TEXT) IS NOT DISTINCT FROM CAST(everyone.quasi_identifier AS TEXT))
WHERE
  COALESCE(everyone.sqlanon_count, 0) < :k
