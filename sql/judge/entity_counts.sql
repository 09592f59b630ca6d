-- The entities that every node counts against the limit on suppression: one row a node with a failing class.
--
-- entities: per node, class and entity the entity's records n. judged: per node and class its records n, fails, and how
-- many of its records are certain to be suppressed at every more special node (min_suppressed).
-- suppressed_entities: entities with a record in a failing class. min_suppressed_entities: those with a record in a class
-- all of whose records are certain to be suppressed. (Where only some are, it is not certain whose they are.)
--
-- entities                      judged                                         entity_counts
-- node | class | entity | n     node | class | n | fails | min_suppressed      node | suppressed_… | min_suppressed_…
-- 0    | 20-29 | 7      | 3     0    | 20-29 | 4 | 1     | 2                   0    | 2            | 1
-- 0    | 20-29 | 8      | 1     0    | 30-39 | 1 | 1     | 1
-- 0    | 30-39 | 8      | 1
SELECT
  node,
  CAST(COUNT(*) AS BIGINT) AS suppressed_entities,
  CAST(SUM(is_certain) AS BIGINT) AS min_suppressed_entities
FROM (
  SELECT
    entities.node,
    entities.sqlanon_entity,
    MAX(CASE WHEN judged.min_suppressed >= judged.n THEN 1 ELSE 0 END) AS is_certain
  FROM entities
  JOIN judged
    ON ALL_OF(entities.class_key = judged.class_key)
  WHERE
    judged.fails = 1 AND entities.n > 0
  GROUP BY
    entities.node,
    entities.sqlanon_entity
) AS hit
GROUP BY
  node
