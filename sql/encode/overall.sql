-- The distribution of a sensitive column among all records, with what the ordered distance needs of it.
-- placed: per value its code (value), its records, and its place in the order, from 1.
-- share: of the records. through: the shares up to the place, added up. area: the sum of `through` up to the place.
-- alone: the ordered distance between the value alone and all records, times the number of values less 1. That is the
-- sum, over all places, of the difference between `through` and 0 before the value's place, and 1 from there on.
--
-- placed                     overall
-- value | records | place    value | … | share | through | area | alone
-- 1     | 1       | 1        1     |   | 0.25  | 0.25    | 0.25 | 0.75
-- 2     | 3       | 2        2     |   | 0.75  | 1       | 1.25 | 0.25
SELECT
  *,
  (area - through) + (MAX(place) OVER () - (place - 1)) + (area - through) - MAX(area) OVER () AS alone
FROM (
  SELECT
    *,
    SUM(through) OVER (ORDER BY place) AS area
  FROM (
    SELECT
      *,
      SUM(share) OVER (ORDER BY place) AS through
    FROM (
      SELECT
        *,
        CAST(records AS DOUBLE) / SUM(records) OVER () AS share
      FROM placed
    ) AS shared
  ) AS cumulated
) AS measured
