-- k-anonymity: a class passes when it holds at least :k records.
--
-- classes           k_anonymity, :k = 2
-- class | n         class | fails | min_suppressed
-- 20-29 | 3         20-29 | 0     | 3
-- 30-39 | 1         30-39 | 1     | 1
--
-- fails: 1 when the class fails. min_suppressed, of a class that fails: at least so many of its records are suppressed at
-- every more special node, too; here all of them, because the parts of a class are no larger than the class.
SELECT
  class_key,
  CASE WHEN n < :k THEN 1 ELSE 0 END AS fails,
  n AS min_suppressed
FROM classes
