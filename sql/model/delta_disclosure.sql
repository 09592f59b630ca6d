-- δ-disclosure privacy: a class passes when |log2(q / p)| < δ for each of its sensitive values, q being the value's share
-- in the class and p its share among all records. :factor is 2^δ: a class fails when q >= :factor * p or
-- q * :factor <= p. Tolerance: a factor of 1 - 1e-12 and 1 + 1e-12, so that equality fails.
--
-- histogram              overall          delta_disclosure, :factor = 2
-- class | value | n      value | share    class | fails | min_suppressed
-- 20-29 | flu   | 1      flu   | 0.25     20-29 | 0     | 0     <- 1.33 times as frequent, 0.89 times
-- 20-29 | cold  | 2      cold  | 0.75     30-39 | 1     | 2     <- flu is three times as frequent
-- 30-39 | flu   | 3                       40-49 | 1     | 0     <- flu is too rare, which proves nothing
-- 30-39 | cold  | 1
-- 40-49 | flu   | 1
-- 40-49 | cold  | 9
--
-- min_suppressed: the cap of a value, its largest share in a published class, in billionths rounded up. Values in the order
-- of falling held / cap: what is published of the class, most, is at most (n - held) / (1 - cap) with both summed over the
-- first values, for any number of them whose caps stay below 1; nothing, if those of all values do. And of each value at
-- most cap * most. See sqlanon/models/capped_shares.py.
SELECT
  class_key,
  fails,
  CASE
    WHEN fails = 0
    THEN 0
    WHEN caps < 1000000000
    THEN n
    ELSE CAST(least AS BIGINT)
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    MAX(n) AS n,
    MAX(differs) AS fails,
    SUM(cap) AS caps,
    SUM(GREATEST(held - cap * most // 1000000000, 0)) AS least
  FROM (
    SELECT
      class_key,
      n,
      held,
      differs,
      cap,
      MIN(
        CASE
          WHEN caps_so_far < 1000000000
          THEN (n - held_so_far) * 1000000000 // (1000000000 - caps_so_far)
          ELSE n
        END
      ) OVER (PARTITION BY class_key) AS most
    FROM (
      SELECT
        class_key,
        n,
        held,
        differs,
        cap,
        SUM(held) OVER (PARTITION BY class_key ORDER BY CAST(held AS DOUBLE) / cap DESC) AS held_so_far,
        SUM(cap) OVER (PARTITION BY class_key ORDER BY CAST(held AS DOUBLE) / cap DESC) AS caps_so_far
      FROM (
        SELECT
          class_key,
          classes.n,
          histogram.n AS held,
          CASE
            WHEN CAST(histogram.n AS DOUBLE) / classes.n >= :factor * overall.share * (1 - 1e-12)
            THEN 1
            WHEN CAST(histogram.n AS DOUBLE) / classes.n * :factor <= overall.share * (1 + 1e-12)
            THEN 1
            ELSE 0
          END AS differs,
          CAST(CEIL(LEAST(:factor * overall.share * (1 + 1e-11), 1) * 1000000000) AS BIGINT) AS cap
        FROM histogram
        JOIN classes
          USING (class_key)
        JOIN overall
          ON overall.value = histogram.value
      ) AS compared
    ) AS added_up
  ) AS bounded
  GROUP BY
    class_key
) AS profile
