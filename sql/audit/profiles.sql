-- The persons by their profiles: those with one profile have the same multiset of rows. A profile is known by the number of
-- the first person who has it.
--
-- Persons that may have the same rows are found by sums over powers of the numbers of their classes, then compared row by row with the
-- first of them. Sums could agree by chance: who differs from the first in any row stands alone, so that two different
-- multisets never count as one. NULLs in a quasi-identifier are equal (extended match). No two rows have one place in the
-- order by which they are numbered, so an engine that numbers them twice gives the same numbers.
--
-- counted: per person and class its rows (sqlanon_records).
--
-- counted                                      profiles
-- age    | entity | sqlanon_records            entity | sqlanon_profile
-- 20-29  | 7      | 2                          7      | 1
-- 20-29  | 8      | 2                          8      | 1
-- 20-29  | 9      | 1                          9      | 3
WITH sqlanon_rows AS (
  SELECT
    entity,
    sqlanon_records,
    MIN(sqlanon_place) OVER (PARTITION BY entity) AS sqlanon_person,
    MIN(sqlanon_place) OVER (PARTITION BY quasi_identifier) AS sqlanon_class
  FROM (
    SELECT
      quasi_identifier,
      entity,
      sqlanon_records,
      CAST(ROW_NUMBER() OVER (ORDER BY entity, quasi_identifier) AS BIGINT) AS sqlanon_place
    FROM counted
  ) AS numbered
), sqlanon_candidates AS (
  SELECT
    sqlanon_person,
    sqlanon_classes,
    MIN(sqlanon_person) OVER (PARTITION BY sqlanon_classes, sum_1, sum_2, sum_3) AS sqlanon_likely
  FROM (
    SELECT
      sqlanon_person,
      COUNT(*) AS sqlanon_classes,
      SUM(sqlanon_records) AS sum_1,
      SUM(sqlanon_records * cube) AS sum_2,
      SUM(sqlanon_records * (((cube * cube) % 1000003) * residue % 1000003)) AS sum_3
    FROM (
      SELECT
        sqlanon_person,
        sqlanon_records,
        sqlanon_class % 1000003 AS residue,
        ((sqlanon_class % 1000003) * (sqlanon_class % 1000003) % 1000003) * (sqlanon_class % 1000003) % 1000003 AS cube
      FROM sqlanon_rows
    ) AS powers
    GROUP BY
      sqlanon_person
  ) AS sums
)
SELECT
  own.entity,
  CASE
    WHEN COUNT(other.sqlanon_class) = MAX(candidates.sqlanon_classes)
    THEN MAX(candidates.sqlanon_likely)
    ELSE MAX(candidates.sqlanon_person)
  END AS sqlanon_profile
FROM sqlanon_rows AS own
JOIN sqlanon_candidates AS candidates
  ON candidates.sqlanon_person = own.sqlanon_person
LEFT JOIN sqlanon_rows AS other
  ON other.sqlanon_person = candidates.sqlanon_likely
  AND other.sqlanon_class = own.sqlanon_class
  AND other.sqlanon_records = own.sqlanon_records
GROUP BY
  own.entity
