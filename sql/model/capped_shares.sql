-- The bound of models that cap the share of each sensitive value in a published class (β-likeness, δ-disclosure privacy).
--
-- capped: per class of n records and value held by so many of them, whether the value makes it fail (differs), and the
-- value's cap, its largest share in a published class, in billionths rounded up.
--
-- capped                                             capped_shares
-- class | n | held | differs | cap                   class | fails | min_suppressed
-- 20-29 | 4 | 2    | 0       | 500000000             20-29 | 0     | 0
-- 20-29 | 4 | 2    | 0       | 1000000000            30-39 | 1     | 2     <- of one value at most half: 1 and 1
-- 30-39 | 4 | 3    | 1       | 500000000
-- 30-39 | 4 | 1    | 0       | 1000000000
--
-- min_suppressed: values in the order of falling held / cap: what is published of the class, most, is at most
-- (n - held) / (1 - cap) with both summed over the first values, for any number of them whose caps stay below 1; nothing,
-- if those of all values do. And of each value at most cap * most. See sqlanon/models/capped_shares.py.
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
      FROM capped
    ) AS added_up
  ) AS bounded
  GROUP BY
    class_key
) AS profile
