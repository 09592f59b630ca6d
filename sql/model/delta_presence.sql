-- δ-presence: a class passes when the share of its records that belong to the subset, n / population, lies between min
-- and max (fractions, compared exactly). Classes without records of the subset are not judged here: they publish
-- nothing; whether they forbid the node is for the policy to decide (public_only).
--
-- classes                           delta_presence, min 0.1, max 0.5
-- class | n | population            class | fails | min_suppressed
-- 20-29 | 2 | 8                     20-29 | 0     | 0
-- 30-39 | 3 | 4                     30-39 | 1     | 2     <- (3 - 0.5 * 4) / (1 - 0.5)
-- 40-49 | 1 | 99                    40-49 | 1     | :below
--
-- min_suppressed, above max: (n - max * population) / (1 - max) rounded up, because what is published together keeps its
-- share at most max, and what is suppressed takes at least as many records of the population as of the subset with it.
-- min_suppressed, below min: :below, which is 1 where classes without records of the subset are forbidden at a candidate
-- (the parts cannot all reach min when the whole does not), and otherwise 0.
SELECT
  class_key,
  CASE
    WHEN CAST(n AS HUGEINT) * :max_denominator > CAST(population AS HUGEINT) * :max_numerator
    THEN 1
    WHEN CAST(n AS HUGEINT) * :min_denominator < CAST(population AS HUGEINT) * :min_numerator
    THEN 1
    ELSE 0
  END AS fails,
  CASE
    WHEN CAST(n AS HUGEINT) * :max_denominator > CAST(population AS HUGEINT) * :max_numerator
    THEN LEAST(
      n,
      CAST(
        (
          CAST(n AS HUGEINT) * :max_denominator - CAST(population AS HUGEINT) * :max_numerator
          + GREATEST(:max_denominator - :max_numerator, 1) - 1
        ) // GREATEST(:max_denominator - :max_numerator, 1) AS BIGINT
      )
    )
    ELSE :below
  END AS min_suppressed
FROM classes
