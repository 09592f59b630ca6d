-- Two neighbours of the numbered places of every person become one, with a number for both: persons have the same numbers at
-- a pair of places if and only if they have the same number for the pair, that of the first person who has it. No number is
-- a hash. After as many rounds as double the places up to the most rows of a person, place 0 is left, and its number is that
-- of all rows: the profile.
--
-- :place: what distinguishes the places of a pair. :pairs: the bits that they have in common.
--
-- numbered, :place = 1, :pairs = -2        paired
-- node | entity | place | number           node | entity | place | number
-- 0    | 7      | 0     | 7                0    | 7      | 0     | 7
-- 0    | 7      | 1     | 7                0    | 8      | 0     | 8
-- 0    | 8      | 0     | 7
SELECT
  node,
  sqlanon_entity,
  place,
  MIN(sqlanon_entity) OVER (PARTITION BY node, place, earlier, later) AS number
FROM (
  SELECT
    node,
    sqlanon_entity,
    place & :pairs AS place,
    MAX(CASE WHEN (place & :place) = 0 THEN number END) AS earlier,
    MAX(CASE WHEN (place & :place) > 0 THEN number END) AS later
  FROM numbered
  GROUP BY
    node,
    sqlanon_entity,
    place & :pairs
) AS pairs
