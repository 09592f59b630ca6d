-- Bounded knowledge: a class of a node falls when, on some set of quasi-identifiers, fewer than :k of the remaining records
-- agree with it. What falls makes others fall: the statement is run again without it, until no class does.
--
-- seen: every remaining class (class_key) on every set that is looked at (known_set): its values on the set
-- (class_on_set), and its records n.
--
-- seen, :k = 2                                  bounded_knowledge
-- class  | known_set | class_on_set | n         class
-- 20, 1* | {age}     | 20           | 1         30, 1*        <- nobody else is 30
-- 20, 2* | {age}     | 20           | 1         20, 2*        <- nobody else has 2*
-- 30, 1* | {age}     | 30           | 1                       (then 20, 1* is alone, and falls next time)
-- 20, 1* | {zip}     | 1*           | 1
-- 20, 2* | {zip}     | 2*           | 1
-- 30, 1* | {zip}     | 1*           | 1
SELECT DISTINCT
  seen.class_key
FROM seen
JOIN (
  SELECT
    known_set,
    class_on_set
  FROM seen
  GROUP BY
    known_set,
    class_on_set
  HAVING
    SUM(n) < :k
) AS small
  USING (known_set, class_on_set)
