-- Two states of a live view that were planned apart, one row: the persons whose class before and class now fewer than k
-- share, and all persons of the two states. A person in several classes counts in each.
--
-- was                              shown                            alone | persons     (k = 2)
-- record | person | cohort         record | person | cohort         1     | 3
-- 1      | 1      | 1              1      | 1      | 7
-- 2      | 2      | 1              2      | 2      | 7
-- 3      | 3      | 1                                                               <- seen once, alone
--
-- was, shown: the records of the earlier and of the later state, with their groups, a class each.
SELECT
  SUM(CASE WHEN classes.n < :k THEN classes.n ELSE 0 END) AS alone,
  SUM(classes.n) AS persons
FROM (
  SELECT
    COUNT(DISTINCT COALESCE(was.sqlanon_person, shown.sqlanon_person)) AS n
  FROM was
  FULL JOIN shown
    ON shown.sqlanon_record = was.sqlanon_record
  GROUP BY
    was.sqlanon_cohort,
    shown.sqlanon_cohort
) AS classes
