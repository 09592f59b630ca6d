-- t-closeness, ordered distance: the earth mover's distance of a class from all records, where the :places values stand
-- in a row and moving one record from place i to place j costs |i - j| / (:places - 1). It is the sum over all places,
-- those of values that the class lacks included, of |cumulative share in the class - cumulative share among all
-- records|, over (:places - 1).
--
-- The cumulative share of the class (held) stays the same from the place of one of its values up to the next, so each
-- value answers for that stretch at once. overall gives per place the cumulative share up to it (through) and the sum of
-- through up to it (area); within a stretch the sign changes once, at the last place whose through is at most held
-- (crossing). fails, min_suppressed: see t_closeness_equal.sql; farthest is the largest distance of a single value of the
-- class.
--
-- overall                                       class with two records of place 2: held = 0, 1, 1
-- place | share | through | area                |0 - 0.25| + |1 - 0.75| + |1 - 1| = 0.5, over 2 = 0.25
-- 1     | 0.25  | 0.25    | 0.25
-- 2     | 0.5   | 0.75    | 1.0
-- 3     | 0.25  | 1.0     | 2.0
SELECT
  class_key,
  CASE WHEN distance > :t + 1e-12 THEN 1 ELSE 0 END AS fails,
  CASE
    WHEN distance > :t + 1e-12
    THEN CAST(CEIL(n * GREATEST((distance - :t - 1e-11) / (farthest - :t + 1e-11) - 1e-9, 0)) AS BIGINT)
    ELSE 0
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    MAX(size) AS n,
    SUM(
      lead_in
      + (turn - place + 1) * held - (turn_area - area_before)
      + (next_area_before - turn_area) - (next_place - 1 - turn) * held
    ) / NULLIF(:places - 1, 0) AS distance,
    MAX(alone) / NULLIF(:places - 1, 0) AS farthest
  FROM (
    SELECT
      class_key,
      stretches.size AS size,
      stretches.alone AS alone,
      stretches.place AS place,
      stretches.next_place AS next_place,
      stretches.held AS held,
      stretches.area_before AS area_before,
      stretches.next_area_before AS next_area_before,
      stretches.lead_in AS lead_in,
      CASE
        WHEN crossing.place IS NULL OR crossing.place < stretches.place
        THEN stretches.place - 1
        WHEN crossing.place >= stretches.next_place
        THEN stretches.next_place - 1
        ELSE crossing.place
      END AS turn,
      CASE
        WHEN crossing.place IS NULL OR crossing.place < stretches.place
        THEN stretches.area_before
        WHEN crossing.place >= stretches.next_place
        THEN stretches.next_area_before
        ELSE crossing.area
      END AS turn_area
    FROM (
      SELECT
        class_key,
        classes.n AS size,
        overall.alone AS alone,
        overall.place AS place,
        overall.area - overall.through AS area_before,
        CAST(SUM(histogram.n) OVER (PARTITION BY class_key ORDER BY overall.place) AS DOUBLE) / classes.n AS held,
        LEAD(overall.place, 1, :places + 1) OVER (PARTITION BY class_key ORDER BY overall.place) AS next_place,
        LEAD(overall.area - overall.through, 1, :area) OVER (PARTITION BY class_key ORDER BY overall.place)
          AS next_area_before,
        CASE
          WHEN ROW_NUMBER() OVER (PARTITION BY class_key ORDER BY overall.place) = 1
          THEN overall.area - overall.through
          ELSE 0
        END AS lead_in
      FROM histogram
      JOIN classes
        USING (class_key)
      JOIN overall
        ON overall.value = histogram.value
    ) AS stretches
    ASOF LEFT JOIN overall AS crossing
      ON stretches.held >= crossing.through
  ) AS turned
  GROUP BY
    class_key
) AS profile
