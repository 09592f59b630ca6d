-- Classes of the release with fewer than :l distinct values of a sensitive column; NULL is a value.
-- No rows: distinct ℓ-diversity holds. Sizes only, never values.
--
-- release                     distinct_l_diversity, :l = 2
-- age   | zip | diagnosis     records
-- 20-29 | 1*  | flu           2            <- both have flu
-- 20-29 | 1*  | flu
SELECT
  COUNT(*) AS records
FROM release
GROUP BY
  release.quasi_identifier
HAVING
  COUNT(*) > 0
  AND COUNT(DISTINCT release.audited_column) + MAX(CASE WHEN release.audited_column IS NULL THEN 1 ELSE 0 END) < :l
