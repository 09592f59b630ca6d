-- Classes of the release whose sensitive values have an entropy -Σ p ln p below ln :l (tolerance 1e-11).
-- No rows: entropy ℓ-diversity holds. NULL is a value. Sizes only, never values.
--
-- release                     entropy_l_diversity, :l = 2
-- age   | zip | diagnosis     records
-- 20-29 | 1*  | flu           3            <- entropy 0.64 < ln 2 = 0.69
-- 20-29 | 1*  | flu
-- 20-29 | 1*  | cold
SELECT
  CAST(SUM(sqlanon_count) AS BIGINT) AS records
FROM (
  SELECT
    quasi_identifier,
    COUNT(*) AS sqlanon_count,
    SUM(COUNT(*)) OVER (PARTITION BY quasi_identifier) AS sqlanon_size
  FROM release
  GROUP BY
    quasi_identifier,
    audited_column
) AS counted
GROUP BY
  counted.quasi_identifier
HAVING
  COALESCE(-SUM(sqlanon_count / sqlanon_size * LN(sqlanon_count / sqlanon_size)), 0) < LN(:l) - 1e-11
  AND COUNT(*) > 0
