-- Whom the classes of one node lose, for the verification of a certificate.
--
-- records: per combination of original values and entity its records n (of the subset), and of the class that it is in:
-- fails, how many records it is certain to lose, and how many distinct entities it holds.
--
-- records                                     node_entities
-- entity | n | fails | lost | entities        suppressed_entities | lost_entities | smallest_entities
-- 7      | 2 | 0     | 0    | 5               2                   | 1             | 5
-- 7      | 1 | 1     | 3    | 2
-- 8      | 1 | 1     | 0    | 1
SELECT
  COUNT(DISTINCT CASE WHEN fails = 1 THEN entity END) AS suppressed_entities,
  COUNT(DISTINCT CASE WHEN fails = 1 AND lost > 0 THEN entity END) AS lost_entities,
  MIN(CASE WHEN fails = 0 THEN entities END) AS smallest_entities
FROM records
WHERE
  n > 0
