-- The classes of one record, if they are more than :numerator / :denominator of all records of a release. No rows: they
-- are not. Sizes only, never the values of a class.
--
-- release             sample_uniqueness, 1 / 4
-- age                 records
-- 20-29               1            <- 1 of 3 records
-- 30-39
-- 30-39
SELECT
  classes.sqlanon_records AS records
FROM (
  SELECT
    sqlanon_records,
    SUM(CASE WHEN sqlanon_records = 1 THEN 1 ELSE 0 END) OVER () AS sqlanon_alone,
    SUM(sqlanon_records) OVER () AS sqlanon_all
  FROM audit.classes AS counted
) AS classes
WHERE
  classes.sqlanon_records = 1
  AND CAST(classes.sqlanon_alone AS HUGEINT) * :denominator > CAST(classes.sqlanon_all AS HUGEINT) * :numerator
