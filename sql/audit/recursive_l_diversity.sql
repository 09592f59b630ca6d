-- Classes of the release that are not recursively (c, ℓ)-diverse: fewer than :l sensitive values, or the largest count r1
-- is not below c * (r_ℓ + r_(ℓ+1) + ...), c being the fraction :c_numerator / :c_denominator. NULL is a value.
-- No rows: recursive (c, ℓ)-diversity holds. Sizes only, never values.
--
-- release                     recursive_l_diversity, :l = 2, c = 2
-- age   | zip | diagnosis     records
-- 20-29 | 1*  | flu           3            <- 2 >= 2 * 1
-- 20-29 | 1*  | flu
-- 20-29 | 1*  | cold
SELECT
  CAST(SUM(sqlanon_count) AS BIGINT) AS records
FROM (
  SELECT
    quasi_identifier,
    COUNT(*) AS sqlanon_count,
    ROW_NUMBER() OVER (PARTITION BY quasi_identifier ORDER BY COUNT(*) DESC) AS sqlanon_rank
  FROM release
  GROUP BY
    quasi_identifier,
    audited_column
) AS counted
GROUP BY
  counted.quasi_identifier
HAVING
  COUNT(*) > 0
  AND (
    COUNT(*) < :l
    OR CAST(MAX(sqlanon_count) AS HUGEINT) * :c_denominator
      >= CAST(SUM(CASE WHEN sqlanon_rank >= :l THEN sqlanon_count ELSE 0 END) AS HUGEINT) * :c_numerator
  )
