-- β-likeness: a class passes when no sensitive value gains more than :beta: with q its share in the class and p its share
-- among all records, (q - p) / p is at most :beta. With :enhanced = 1 at most the lesser of :beta and -ln p. Tolerance: a
-- factor of 1 + 1e-12.
--
-- histogram              overall          beta_likeness, :beta = 1
-- class | value | n      value | share    class | fails | min_suppressed
-- 20-29 | flu   | 2      flu   | 0.25     20-29 | 0     | 0     <- (0.5 - 0.25) / 0.25 = 1
-- 20-29 | cold  | 2      cold  | 0.75     30-39 | 1     | 2     <- flu may be half of what is published: 1 and 1
-- 30-39 | flu   | 3
-- 30-39 | cold  | 1
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
          n,
          held,
          CASE WHEN CAST(held AS DOUBLE) / n > largest * (1 + 1e-12) THEN 1 ELSE 0 END AS differs,
          CAST(CEIL(LEAST(largest * (1 + 1e-11), 1) * 1000000000) AS BIGINT) AS cap
        FROM (
          SELECT
            class_key,
            classes.n,
            histogram.n AS held,
            (1 + CASE WHEN :enhanced = 1 AND -LN(overall.share) < :beta THEN -LN(overall.share) ELSE :beta END)
              * overall.share AS largest
          FROM histogram
          JOIN classes
            USING (class_key)
          JOIN overall
            ON overall.value = histogram.value
        ) AS capped
      ) AS compared
    ) AS added_up
  ) AS bounded
  GROUP BY
    class_key
) AS profile
