-- One row: the distinct entities of a relation, and those that stand in a class of fewer than :k of them (extended
-- match). An entity counts once, however many of its classes are small. Records without an entity (NULL) do not count.
--
-- relation                  entities_in_small_classes, :k = 2
-- age | zip | person_id     entities | in_small_classes
-- 20  | 1*  | 7             2        | 1
-- 25  | 1*  | 7
-- 30  | 1*  | 7
-- 30  | 1*  | 8
SELECT
  CAST(COUNT(DISTINCT entity) AS BIGINT) AS entities,
  CAST(COUNT(DISTINCT CASE WHEN sqlanon_size < :k THEN entity END) AS BIGINT) AS in_small_classes
FROM (
  SELECT
    entity,
    COUNT(*) OVER (PARTITION BY quasi_identifier) AS sqlanon_size
  FROM (
    SELECT DISTINCT
      quasi_identifier,
      entity
    FROM relation
    WHERE
      NOT entity IS NULL
  ) AS members
) AS sized
