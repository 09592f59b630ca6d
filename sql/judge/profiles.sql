-- The profiles of some nodes: a profile fails when any row of it fails a model, and is suppressed with all rows.
--
-- judged_rows: per node, profile and row of it the records n, fails, and min_suppressed: how many of them are certain to be
-- suppressed at every more special node. (Further columns: whether each model fails it.)
-- is_certain: all records of a row are, and so are all persons of the profile.
--
-- judged_rows                                              profiles
-- node | profile | row   | n | fails | min_suppressed      node | profile | fails | is_certain
-- 0    | 7       | 20-29 | 4 | 0     | 0                   0    | 7       | 1     | 1
-- 0    | 7       | 30-39 | 2 | 1     | 2
SELECT
  node,
  profile,
  MAX(fails) AS fails,
  MAX(CASE WHEN fails = 1 AND min_suppressed >= n THEN 1 ELSE 0 END) AS is_certain
FROM judged_rows
GROUP BY
  node,
  profile
