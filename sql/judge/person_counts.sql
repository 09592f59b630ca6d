-- The persons that every node counts against the limit on suppression, where persons are suppressed by their profiles: one row
-- a node.
--
-- persons: per node and person the profile. profiles: per node and profile fails, and is_certain: its persons are suppressed at
-- every more special node, too.
--
-- persons                    profiles                               entity_counts
-- node | entity | profile    node | profile | fails | is_certain    node | suppressed_… | min_suppressed_…
-- 0    | 7      | 7          0    | 7       | 0     | 0             0    | 1            | 1
-- 0    | 8      | 7          0    | 9       | 1     | 1
-- 0    | 9      | 9
SELECT
  persons.node,
  CAST(SUM(profiles.fails) AS BIGINT) AS suppressed_entities,
  CAST(SUM(profiles.is_certain) AS BIGINT) AS min_suppressed_entities
FROM persons
JOIN profiles
  ON persons.node = profiles.node AND persons.profile = profiles.profile
GROUP BY
  persons.node
