-- How many classes of a sample have how many members in it, and how many in the population: one row a pair of sizes.
--
-- sample, population: the members, with the same columns; a member is a record, or an entity once in each class. NULLs
-- are equal in GROUP BY, so that no join has to compare them.
--
-- sample        population        population_sizes
-- age | zip     age | zip         size | members | classes
-- 20  | 1*      20  | 1*          1    | 0       | 1         <- the class (20, NULL) is no part of the population
-- 20  | 1*      20  | 1*          2    | 3       | 1
-- 20  |         20  | 1*
--               30  | 1*
SELECT
  size,
  members,
  CAST(COUNT(*) AS BIGINT) AS classes
FROM (
  SELECT
    CAST(SUM(in_sample) AS BIGINT) AS size,
    CAST(SUM(in_population) AS BIGINT) AS members
  FROM (
    SELECT
      quasi_identifier,
      1 AS in_sample,
      0 AS in_population
    FROM sample
    UNION ALL
    SELECT
      quasi_identifier,
      0 AS in_sample,
      1 AS in_population
    FROM population
  ) AS members
  GROUP BY
    quasi_identifier
  HAVING
    SUM(in_sample) > 0
) AS classes
GROUP BY
  size,
  members
