-- The records that go although the source has them as they are shown: so that others of their group, which are overdue,
-- go with at least k persons in all. Of each group they are as few as can be, in the order of their persons.
--
-- fates: a row a shown record; k: how many persons have to go; latest: who is shown as it was since this state, or since
-- an earlier one, is overdue. (Here k = 3, latest = 7.)
--
-- fates                                                              sqlanon_record
-- sqlanon_record | sqlanon_person | sqlanon_cohort | stays | sqlanon_since   2
-- 1              | 1              | 1              | 0     | 7               3
-- 2              | 2              | 1              | 1     |
-- 3              | 3              | 1              | 1     |
-- 4              | 4              | 1              | 1     |               <- two with the first are enough
-- 5              | 5              | 2              | 0     | 8             <- not overdue
SELECT
  fates.sqlanon_record
FROM fates
INNER JOIN (
  SELECT
    sqlanon_cohort,
    :k - COUNT(DISTINCT CASE WHEN stays = 0 THEN sqlanon_person END) AS lacking
  FROM fates
  GROUP BY
    sqlanon_cohort
  HAVING
    MAX(CASE WHEN stays = 0 AND sqlanon_since <= :latest THEN 1 ELSE 0 END) = 1
) AS overdue
  ON overdue.sqlanon_cohort = fates.sqlanon_cohort
INNER JOIN (
  SELECT
    sqlanon_cohort,
    sqlanon_person,
    ROW_NUMBER() OVER (PARTITION BY sqlanon_cohort ORDER BY sqlanon_person) AS place
  FROM (
    SELECT
      sqlanon_cohort,
      sqlanon_person
    FROM fates
    GROUP BY
      sqlanon_cohort,
      sqlanon_person
    HAVING
      MIN(stays) = 1
  ) AS staying
) AS persons
  ON persons.sqlanon_cohort = fates.sqlanon_cohort AND persons.sqlanon_person = fates.sqlanon_person
WHERE
  persons.place <= overdue.lacking
