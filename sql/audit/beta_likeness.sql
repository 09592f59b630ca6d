-- Classes of the release in which a sensitive value gains more than :beta on the reference: (q - p) / p, q being its share
-- in the class and p its share in the reference; with :enhanced = 1 more than the lesser of :beta and -ln p. A value that
-- the reference lacks gains without end. Tolerance 1e-11, relative to 1 + gain. No rows: β-likeness holds.
-- reference: value (text) and records, over all records before suppression. NULL is a value. Sizes only, never values.
--
-- release                     reference          beta_likeness, :beta = 0.5
-- age   | zip | diagnosis     value | records    records
-- 20-29 | 1*  | flu           flu   | 5          2            <- (1 - 0.5) / 0.5 = 1
-- 20-29 | 1*  | flu           cold  | 5
SELECT
  CAST(SUM(sqlanon_count) AS BIGINT) AS records
FROM audit.shares_of_values AS compared
GROUP BY
  compared.quasi_identifier
HAVING
  COUNT(*) > 0
  AND MAX(
    CASE
      WHEN sqlanon_overall IS NULL OR sqlanon_overall <= 0
      THEN 1
      WHEN (sqlanon_share - sqlanon_overall) / sqlanon_overall > :beta + (1 + :beta) * 1e-11
      THEN 1
      WHEN :enhanced = 1
      AND (sqlanon_share - sqlanon_overall) / sqlanon_overall > -LN(sqlanon_overall) + (1 - LN(sqlanon_overall)) * 1e-11
      THEN 1
      ELSE 0
    END
  ) = 1
