-- Classes of the release whose sensitive values are farther than :t from those of the reference: ½ Σ |p - P| over all
-- values, those that the class lacks included (they add their P). Tolerance 1e-11. No rows: t-closeness holds.
-- reference: value (text) and records, over all records before suppression. NULL is a value. Sizes only, never values.
--
-- release                     reference          t_closeness_equal, :t = 0.2
-- age   | zip | diagnosis     value | records    records
-- 20-29 | 1*  | flu           flu   | 5          2            <- ½ (0.5 + 0.5)
-- 20-29 | 1*  | flu           cold  | 5
SELECT
  CAST(SUM(sqlanon_count) AS BIGINT) AS records
FROM audit.shares_of_values AS compared
GROUP BY
  compared.quasi_identifier
HAVING
  COUNT(*) > 0
  AND (
    SUM(ABS(sqlanon_share - COALESCE(sqlanon_overall, 0))) + 1 - SUM(COALESCE(sqlanon_overall, 0))
  ) / 2 > :t + 1e-11
