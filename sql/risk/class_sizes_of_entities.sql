-- How many classes of a relation have how many distinct entities (extended match): one row a size.
--
-- An entity counts once in each class that holds a record of it. Records without an entity (NULL) do not count, so the
-- size of a class may be 0.
-- relation: the records that take part.
--
-- relation                  class_sizes_of_entities
-- age | zip | person_id     size | classes
-- 20  | 1*  | 7             1    | 1
-- 20  | 1*  | 7             2    | 1
-- 30  | 1*  | 7
-- 30  | 1*  | 8
SELECT
  size,
  CAST(COUNT(*) AS BIGINT) AS classes
FROM (
  SELECT
    CAST(COUNT(DISTINCT entity) AS BIGINT) AS size
  FROM relation
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS classes
GROUP BY
  size
