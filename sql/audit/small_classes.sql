-- Classes of the release with fewer than :k records. No rows: k-anonymity holds on the quasi-identifiers.
-- GROUP BY treats NULLs as equal (extended match). Sizes only, never the values of a class.
-- Without quasi-identifiers all records are one class.
--
-- release                      small_classes, :k = 2
-- age    | zip | diagnosis     records
-- 20-29  | 1*  | flu           1            <- the class (20-29, NULL)
-- 20-29  | 1*  | cold
-- 20-29  |     | flu
SELECT
  COUNT(*) AS records
FROM release
GROUP BY
  release.quasi_identifier
HAVING
  COUNT(*) BETWEEN 1 AND :k - 1
