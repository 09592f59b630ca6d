-- Values of one column beside which not exactly one value of another stands, one row each. No rows in either direction:
-- as many pseudonyms stand in the release as persons, none is shared by two, and nobody has two.
--
-- release                                     unpaired, audited_column = pseudonym, companion = person_id
-- pseudonym | person_id                       offence
-- 0a…       | 7                               1      <- two persons with one pseudonym
-- 0a…       | 8
-- 1b…       | 9
SELECT
  1 AS offence
FROM release
GROUP BY
  audited_column
HAVING
  COUNT(DISTINCT companion) <> 1 OR COUNT(companion) < COUNT(*)
