-- Classes of the release with a sensitive value whose share is :delta or more away from that of the reference, by
-- |log2(q / p)|: q is its share in the class, p its share in the reference. Values that the class lacks do not count; one
-- that the reference lacks is infinitely far away. Tolerance 1e-13 (the model's own is wider).
-- No rows: δ-disclosure privacy holds.
-- reference: value (text) and records, over all records before suppression. NULL is a value. Sizes only, never values.
--
-- release                     reference          delta_disclosure, :delta = 1
-- age   | zip | diagnosis     value | records    records
-- 20-29 | 1*  | flu           flu   | 5          2            <- log2(1 / 0.5) = 1
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
      WHEN ABS(LN(sqlanon_share / NULLIF(sqlanon_overall, 0))) / LN(2) >= :delta - 1e-13
      THEN 1
      ELSE 0
    END
  ) = 1
