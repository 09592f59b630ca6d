-- Classes of the release on one set of quasi-identifiers with fewer than :k records. It is asked for every set that an
-- attacker may know: no rows for any of them, and bounded knowledge holds. GROUP BY treats NULLs as equal (extended
-- match). Sizes only, never values.
--
-- release                      bounded_knowledge, :k = 2, the set {age, zip}
-- age    | zip | diagnosis     records
-- 20-29  | 1*  | flu           1            <- the class (20-29, NULL); on {age} alone it has three records
-- 20-29  | 1*  | cold
-- 20-29  |     | flu
SELECT
  COUNT(*) AS records
FROM release
GROUP BY
  release.quasi_identifier
HAVING
  COUNT(*) BETWEEN 1 AND :k - 1
