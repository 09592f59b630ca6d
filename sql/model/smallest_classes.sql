-- Release models of class sizes (average_risk, sample_uniqueness, population_uniqueness): the smallest classes of a node
-- fail, as many as are needed until the figure of the others holds. Which they are is found from the classes by size.
--
-- judged: the classes of a node with their records n, and fails: 1 for those that failed before.
-- ranked: those of just :size records that passed before, with their place in the order in which they are suppressed.
-- :size, :classes: all passing classes of fewer than :size records fail, and of those with :size the first :classes.
-- lasts: 1 when all records of a class that fails stay suppressed at every more special node.
--
-- judged                         ranked            :size = 2, :classes = 1
-- class | n | fails              class | place     class | fails | min_suppressed
-- 20-29 | 1 | 0                  40-49 | 1         20-29 | 1     | 0
-- 30-39 | 2 | 0                  30-39 | 2         30-39 | 0     | 0
-- 40-49 | 2 | 0                                    40-49 | 1     | 0
SELECT
  judged.class_key,
  CASE
    WHEN judged.fails = 1
    THEN 1
    WHEN judged.n > 0 AND (judged.n < :size OR ranked.place <= :classes)
    THEN 1
    ELSE 0
  END AS fails,
  CASE
    WHEN judged.fails = 1
    THEN judged.min_suppressed
    WHEN judged.n > 0 AND (judged.n < :size OR ranked.place <= :classes)
    THEN judged.n * :lasts
    ELSE 0
  END AS min_suppressed
FROM judged
LEFT JOIN ranked
  ON ALL_OF(judged.class_key = ranked.class_key)
