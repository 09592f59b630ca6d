-- The records that stay in a live view at the end of an epoch. A group are records that came in one epoch to one class; a
-- part of it are those that the source still has as they are shown (stays = 1), or the others (0).
--
-- Nobody changed: all stay. Those who stay do not meet the models by themselves: none stays. Those who go do: they go.
-- Otherwise those who go are shown as they were, until enough others go with them.
--
-- fates: a row a shown record; passing: the parts that meet the models by themselves (at least two records, here).
--
-- fates                                                    passing        remaining
-- sqlanon_record | sqlanon_cohort | stays | sqlanon_part   sqlanon_part   sqlanon_record
-- 1              | 1              | 1     | 3              3              1
-- 2              | 1              | 1     | 3                             2
-- 3              | 1              | 0     | 2                             3       <- too few to go
-- 4              | 2              | 1     | 5                                     <- too few stay
-- 5              | 2              | 0     | 4
SELECT
  fates.sqlanon_record
FROM fates
INNER JOIN (
  SELECT
    fates.sqlanon_cohort,
    MIN(fates.stays) AS whole,
    MAX(CASE WHEN fates.stays = 1 AND NOT passing.sqlanon_part IS NULL THEN 1 ELSE 0 END) AS some_stay,
    MAX(CASE WHEN fates.stays = 0 AND NOT passing.sqlanon_part IS NULL THEN 1 ELSE 0 END) AS some_go
  FROM fates
  LEFT JOIN passing
    ON passing.sqlanon_part = fates.sqlanon_part
  GROUP BY
    fates.sqlanon_cohort
) AS cohorts
  ON cohorts.sqlanon_cohort = fates.sqlanon_cohort
WHERE
  cohorts.whole = 1 OR (cohorts.some_stay = 1 AND (fates.stays = 1 OR cohorts.some_go = 0))
