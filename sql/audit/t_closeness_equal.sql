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
FROM (
  SELECT
    quasi_identifier,
    CAST(audited_column AS TEXT) AS sqlanon_value,
    COUNT(*) AS sqlanon_count,
    SUM(COUNT(*)) OVER (PARTITION BY quasi_identifier) AS sqlanon_size
  FROM release
  GROUP BY
    quasi_identifier,
    CAST(audited_column AS TEXT)
) AS counted
LEFT JOIN (
  SELECT
    value AS sqlanon_text,
    CAST(records AS DOUBLE) / SUM(records) OVER () AS sqlanon_share
  FROM reference
) AS overall
  ON overall.sqlanon_text IS NOT DISTINCT FROM counted.sqlanon_value
GROUP BY
  counted.quasi_identifier
HAVING
  COUNT(*) > 0
  AND (
    SUM(ABS(sqlanon_count / sqlanon_size - COALESCE(sqlanon_share, 0))) + 1 - SUM(COALESCE(sqlanon_share, 0))
  ) / 2 > :t + 1e-11
