-- The entities with suppressed records at nodes, for the verification of a certificate.
--
-- judged: per node, combination of original values and entity its records n (of the subset), and of the class that it is
-- in: fails, its records, how many of them are certain to be suppressed at every more special node, and its distinct
-- entities. Only where all records of a class are suppressed, it is certain whose they are.
--
-- judged                                                              node_entities
-- node | entity | n | fails | min_suppressed | records | entities     node | suppressed_… | min_suppressed_… | smallest_…
-- 0    | 7      | 2 | 0     | 0              | 9       | 5            0    | 2            | 1                | 5
-- 0    | 7      | 1 | 1     | 3              | 3       | 2
-- 0    | 8      | 1 | 1     | 1              | 4       | 3
SELECT
  node,
  COUNT(DISTINCT CASE WHEN fails = 1 AND n > 0 THEN entity END) AS suppressed_entities,
  COUNT(DISTINCT CASE WHEN fails = 1 AND n > 0 AND min_suppressed >= records THEN entity END) AS min_suppressed_entities,
  MIN(CASE WHEN fails = 0 AND n > 0 THEN entities END) AS smallest_entities
FROM judged
GROUP BY
  node
