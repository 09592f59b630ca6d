-- Classes of the release whose share of the population's records with the same quasi-identifiers is not between min and
-- max (fractions, compared exactly), or that hold more records than the population. No rows: δ-presence holds for what
-- is published. Sizes only, never values.
-- population: the quasi-identifiers, generalized as in the release, and sqlanon_count, their number of records.
--
-- release                     population                       delta_presence, max 0.5
-- age   | zip | diagnosis     age   | zip | sqlanon_count      records
-- 20-29 | 1*  | flu           20-29 | 1*  | 3                  2            <- 2 of 3
-- 20-29 | 1*  | cold
SELECT
  released.sqlanon_records AS records
FROM audit.classes AS released
LEFT JOIN population AS everyone
  ON ALL_OF(CAST(released.quasi_identifier AS TEXT) IS NOT DISTINCT FROM CAST(everyone.quasi_identifier AS TEXT))
WHERE
  released.sqlanon_records > COALESCE(everyone.sqlanon_count, 0)
  OR CAST(released.sqlanon_records AS HUGEINT) * :max_denominator
    > CAST(COALESCE(everyone.sqlanon_count, 0) AS HUGEINT) * :max_numerator
  OR CAST(released.sqlanon_records AS HUGEINT) * :min_denominator
    < CAST(COALESCE(everyone.sqlanon_count, 0) AS HUGEINT) * :min_numerator
