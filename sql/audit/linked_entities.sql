-- One row about the entities whose records a reader of the release can distinguish from all others, because nobody else
-- agrees with them in some columns that are published (linking_column): how many there are, and how many of them stand
-- in a set of classes that fewer than :k of them share. Who knows of some records of a person, and so of their classes,
-- finds all of them by that set.
--
-- A set is known by its size and three sums over the numbers of its classes.
--
-- release, linking_column: blood, :k = 2                 linked_entities
-- age    | blood | person_id                             linked | apart
-- 20-29  | A     | 7                                     3      | 1      <- 7 is in both classes, 8 and 9 in one
-- 30-39  | A     | 7
-- 20-29  | B     | 8
-- 20-29  | 0     | 9
-- 30-39  | AB    | 5                                                     <- 5 and 6 agree: their records are not distinguished
-- 30-39  | AB    | 6
SELECT
  COUNT(DISTINCT who) AS linked,
  COUNT(DISTINCT CASE WHEN sharing < :k THEN who END) AS apart
FROM (
  SELECT
    who,
    COUNT(*) OVER (PARTITION BY classes, sum_1, sum_2, sum_3) AS sharing
  FROM (
    SELECT
      MIN(lowest) AS who,
      COUNT(*) AS classes,
      SUM(class) AS sum_1,
      SUM(class * class) AS sum_2,
      SUM((class * class) % 1000003 * class) AS sum_3
    FROM (
      SELECT
        linking_column,
        lowest,
        highest,
        MIN(place) OVER (PARTITION BY quasi_identifier) AS class
      FROM (
        SELECT
          linking_column,
          quasi_identifier,
          lowest,
          highest,
          ROW_NUMBER() OVER (ORDER BY lowest) AS place
        FROM (
          SELECT
            linking_column,
            quasi_identifier,
            MIN(entity) AS lowest,
            MAX(entity) AS highest
          FROM release
          GROUP BY
            linking_column,
            quasi_identifier
        ) AS parts
      ) AS numbered
    ) AS of_classes
    GROUP BY
      linking_column
    HAVING
      MIN(lowest) = MAX(highest)
  ) AS sets
) AS shared
