-- Recursive (c, ℓ)-diversity: with the counts of a class sorted r1 >= r2 >= ..., it passes when it holds at least :l
-- values and r1 < c * (r_ℓ + r_(ℓ+1) + ...). c is the fraction :c_numerator / :c_denominator, compared exactly.
--
-- histogram                      recursive_l_diversity, :l = 2, c = 2
-- class | value | n              class | fails | min_suppressed
-- 20-29 | flu   | 3              20-29 | 0     | 0     <- 3 < 2 * 2
-- 20-29 | cold  | 2              30-39 | 1     | 3     <- 4 >= 2 * 1: flu must lose 3 to be below 2
-- 30-39 | flu   | 4
-- 30-39 | cold  | 1
--
-- min_suppressed: the records that the most frequent value must lose, floor(r1 - c * tail) + 1, because the tail of the
-- published parts is at most the tail of the class; all n when the class holds fewer than ℓ values.
SELECT
  class_key,
  CASE
    WHEN distinct_values < :l OR largest * :c_denominator >= tail * :c_numerator
    THEN 1
    ELSE 0
  END AS fails,
  CASE
    WHEN distinct_values < :l
    THEN n
    ELSE LEAST(n, CAST((largest * :c_denominator - tail * :c_numerator) // :c_denominator AS BIGINT) + 1)
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    CAST(SUM(n) AS BIGINT) AS n,
    COUNT(*) AS distinct_values,
    CAST(MAX(n) AS HUGEINT) AS largest,
    CAST(SUM(CASE WHEN place >= :l THEN n ELSE 0 END) AS HUGEINT) AS tail
  FROM (
    SELECT
      class_key,
      n,
      ROW_NUMBER() OVER (PARTITION BY class_key ORDER BY n DESC) AS place
    FROM histogram
  ) AS ranked
  GROUP BY
    class_key
) AS profile
