-- What the end of an epoch did, one row: records that came, went as a part of their group, went because their whole group
-- did, and are shown as they were though the source has them no longer so.
--
-- fates                                 shown                            joined | gone | withdrawn | held
-- sqlanon_record | sqlanon_cohort | stays   sqlanon_record | sqlanon_cohort   1      | 1    | 1         | 0
-- 1              | 1              | 1       1              | 1
-- 2              | 1              | 0                                    <- gone: its group is still shown
-- 3              | 2              | 0                                    <- withdrawn
--                                           4              | 3           <- joined
--
-- fates: a row a record that was shown (``remaining.sql``); shown: the records that are shown now.
SELECT
  SUM(CASE WHEN fates.sqlanon_record IS NULL THEN 1 ELSE 0 END) AS joined,
  SUM(CASE WHEN shown.sqlanon_record IS NULL AND NOT cohorts.sqlanon_cohort IS NULL THEN 1 ELSE 0 END) AS gone,
  SUM(CASE WHEN shown.sqlanon_record IS NULL AND cohorts.sqlanon_cohort IS NULL THEN 1 ELSE 0 END) AS withdrawn,
  SUM(CASE WHEN fates.stays = 0 AND NOT shown.sqlanon_record IS NULL THEN 1 ELSE 0 END) AS held
FROM fates
FULL JOIN shown
  ON shown.sqlanon_record = fates.sqlanon_record
LEFT JOIN (
  SELECT DISTINCT
    sqlanon_cohort
  FROM shown
) AS cohorts
  ON cohorts.sqlanon_cohort = fates.sqlanon_cohort
