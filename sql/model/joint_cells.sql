-- Releases judged together: the persons of the same classes in earlier releases who are absent from the new one are nobody,
-- at least :least, or all of them. Where they are not, further joint cells of theirs fail, the smallest first.
--
-- judged: the joint cells of a node with their records n, the number of their classes in earlier releases (0: in none),
-- and fails: 1 for those that failed before.
-- earlier: per number its members, the persons of the earlier releases, whether the source has them or not.
-- :least: the persons that a cell holds at least. :whole: 1 when all members of a number are published, or none.
-- min_suppressed: at least so many records of the cell are suppressed at every more special node; the files of other
-- models gave it for the cells that failed before.
--
-- judged                                  earlier              :least = 2, :whole = 0
-- class | earlier | n | fails             earlier | members    class | fails | min_suppressed
-- 20-29 | 1       | 2 | 0                 1       | 6          20-29 | 1     | 0
-- 30-39 | 1       | 3 | 0                                      30-39 | 0     | 0
-- 30-39 | 0       | 2 | 0                                      30-39 | 0     | 0
SELECT
  class_key,
  CASE
    WHEN fails = 1
    THEN 1
    WHEN earlier = 0 OR n <= 0 OR members <= published
    THEN 0
    WHEN :whole = 1 OR members - published + through - n < :least
    THEN 1
    ELSE 0
  END AS fails,
  CASE
    WHEN :whole = 1 AND earlier > 0 AND members - records + certain > 0
    THEN n
    WHEN fails = 1
    THEN min_suppressed
    ELSE 0
  END AS min_suppressed
FROM (
  SELECT
    class_key,
    judged.n,
    judged.fails,
    judged.min_suppressed,
    judged.earlier,
    earlier.members,
    SUM(CASE WHEN judged.fails = 0 THEN judged.n ELSE 0 END) OVER (PARTITION BY judged.earlier) AS published,
    SUM(CASE WHEN judged.fails = 1 THEN judged.min_suppressed ELSE 0 END) OVER (PARTITION BY judged.earlier) AS certain,
    SUM(judged.n) OVER (PARTITION BY judged.earlier) AS records,
    SUM(judged.n) OVER (
      PARTITION BY judged.earlier, judged.fails
      ORDER BY judged.n, class_key
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS through
  FROM judged
  JOIN earlier
    ON judged.earlier = earlier.earlier
) AS cells
