-- k-map: a class passes when at least :k records of the population belong to it. Classes without records to publish,
-- which the population alone has, are not judged here: they publish nothing.
--
-- classes                  k_map, :k = 3
-- class | n | population   class | fails | min_suppressed
-- 20-29 | 1 | 8            20-29 | 0     | 1
-- 30-39 | 2 | 2            30-39 | 1     | 2
-- 40-49 | 1 | 0            40-49 | 1     | 1     <- the class is no part of the population
--
-- fails: 1 when the class fails. min_suppressed, of a class that fails: at least so many of its records are suppressed at
-- every more special node, too; here all of them, because a part of a class has no more of the population than the class.
SELECT
  class_key,
  CASE WHEN population < :k THEN 1 ELSE 0 END AS fails,
  n AS min_suppressed
FROM classes
