-- One wave of the greedy heuristic of pattern-guided k-anonymity (see sqlanon/compiler/patterns.py, which has the proof
-- that repeating it assigns what Algorithm 1 of the paper assigns).
--
-- In and out: pairs of a row type and a pattern that may still take it, with k = 2:
--
-- pairs                                              after one wave
-- id | n | pattern | grp | certain | settled         id | n | pattern | grp | certain | settled
-- 1  | 1 | 4       | 7   | 0       | 0               1  | 1 | 4       | 7   | 1       | 1
-- 2  | 1 | 4       | 7   | 0       | 0               2  | 1 | 4       | 7   | 1       | 1
-- 2  | 1 | 5       | 8   | 0       | 0
-- 3  | 1 | 5       | 8   | 0       | 0               3  | 1 | 5       | 8   | 0       | 0
--
-- id, n: row type and its records; grp: rows that agree in what the pattern keeps; certain: the group will hold k
-- records when its pattern is tried; settled: the pattern takes the row type (these pairs are done with).
WITH sized AS MATERIALIZED (
  SELECT
    grp
  FROM pairs
  WHERE
    settled = 0
  GROUP BY
    grp
  HAVING
    SUM(n) >= :k OR MAX(certain) = 1
), alive AS MATERIALIZED (
  SELECT
    pairs.id,
    pairs.n,
    pairs.pattern,
    pairs.grp,
    pairs.certain
  FROM pairs
  INNER JOIN sized
    ON pairs.grp = sized.grp
  WHERE
    pairs.settled = 0
), firsts AS MATERIALIZED (
  SELECT
    id,
    MIN(pattern) AS first_pattern
  FROM alive
  GROUP BY
    id
), assured AS MATERIALIZED (
  SELECT
    alive.grp
  FROM alive
  INNER JOIN firsts
    ON alive.id = firsts.id
  GROUP BY
    alive.grp
  HAVING
    SUM(CASE WHEN alive.pattern = firsts.first_pattern THEN alive.n ELSE 0 END) >= :k
    OR MAX(alive.certain) = 1
), lasts AS MATERIALIZED (
  SELECT
    alive.id,
    MIN(alive.pattern) AS last_pattern
  FROM alive
  INNER JOIN assured
    ON alive.grp = assured.grp
  GROUP BY
    alive.id
)
SELECT
  alive.id,
  alive.n,
  alive.pattern,
  alive.grp,
  CASE WHEN alive.pattern = lasts.last_pattern THEN 1 ELSE 0 END AS certain,
  CASE WHEN firsts.first_pattern = lasts.last_pattern THEN 1 ELSE 0 END AS settled
FROM alive
INNER JOIN firsts
  ON alive.id = firsts.id
LEFT JOIN lasts
  ON alive.id = lasts.id
WHERE
  lasts.last_pattern IS NULL OR alive.pattern <= lasts.last_pattern
