-- The entities with suppressed records at one node, for the verification of a certificate.
--
-- judged: per combination of original values and entity its records n (of the subset), and of the class that it is in:
-- fails, its records, how many of them are certain to be suppressed at every more special node, and its distinct entities.
-- Only where all records of a class are suppressed, it is certain whose they are.
--
-- judged                                                       node_entities
-- entity | n | fails | min_suppressed | records | entities     suppressed_… | min_suppressed_… | smallest_entities
-- 7      | 2 | 0     | 0              | 9       | 5            2            | 1                | 5
-- 7      | 1 | 1     | 3              | 3       | 2
-- 8      | 1 | 1     | 1              | 4       | 3
SELECT
  COUNT(DISTINCT CASE WHEN fails = 1 THEN entity END) AS suppressed_entities,
  COUNT(DISTINCT CASE WHEN fails = 1 AND min_suppressed >= records THEN entity END) AS min_suppressed_entities,
  MIN(CASE WHEN fails = 0 THEN entities END) AS smallest_entities
FROM judged
WHERE
  n > 0
