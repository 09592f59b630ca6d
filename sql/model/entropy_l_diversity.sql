-- Entropy ℓ-diversity: a class passes when the entropy of its sensitive values, -Σ p ln p, is at least ln :l.
-- With counts m of n records this is ln n - (Σ m ln m) / n. A tolerance of 1e-12 lets a uniform class over ℓ values pass.
--
-- histogram                      entropy_l_diversity, :l = 2
-- class | value | n              class | fails | min_suppressed
-- 20-29 | flu   | 2              20-29 | 0     | 0
-- 20-29 | cold  | 2              30-39 | 1     | 3     <- entropy 0.451 = 0.65 ln 2: at most 3.9 of 6 can stay
-- 30-39 | flu   | 5
-- 30-39 | cold  | 1
--
-- min_suppressed: the published parts have together at most n * entropy / ln ℓ records (entropy is concave); all n are
-- suppressed when the class holds fewer than ℓ values. Computed with an entropy too large by 1e-11, and rounded down by
-- 1e-9 of n, so that floating error cannot make it too large.
SELECT
  class_key,
  CASE WHEN entropy < LN(:l) - 1e-12 THEN 1 ELSE 0 END AS fails,
  CASE
    WHEN LN(distinct_values) < LN(:l) - 1e-12
    THEN n
    ELSE CAST(CEIL(n * GREATEST(1 - (entropy + 1e-11) / NULLIF(LN(:l), 0) - 1e-9, 0)) AS BIGINT)
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    CAST(SUM(n) AS BIGINT) AS n,
    COUNT(*) AS distinct_values,
    LN(SUM(n)) - SUM(n * LN(n)) / SUM(n) AS entropy
  FROM histogram
  GROUP BY
    class_key
) AS profile
