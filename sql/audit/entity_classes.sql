-- One row: the distinct entities of a relation, and those of the class that has the fewest (extended match). Records
-- without an entity (NULL) do not count, so a class may hold none.
--
-- release                      entity_classes
-- age    | zip | person_id     entities | smallest_class
-- 20-29  | 1*  | 7             2        | 1
-- 20-29  | 1*  | 7
-- 20-29  | 1*  |
-- 30-39  | 1*  | 7
-- 30-39  | 1*  | 8
SELECT
  (SELECT COUNT(DISTINCT entity) FROM release) AS entities,
  MIN(entities) AS smallest_class
FROM (
  SELECT
    COUNT(DISTINCT entity) AS entities
  FROM release
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS classes
