-- All classes of a release, if the mean risk of its records, classes / records, is above :numerator / :denominator.
-- No rows: it is not. Sizes only, never the values of a class.
--
-- release             average_risk, 1 / 2
-- age                 records
-- 20-29               1            <- 2 classes of 3 records
-- 30-39               2
-- 30-39
SELECT
  classes.sqlanon_records AS records
FROM (
  SELECT
    sqlanon_records,
    COUNT(*) OVER () AS sqlanon_classes,
    SUM(sqlanon_records) OVER () AS sqlanon_all
  FROM audit.classes AS counted
) AS classes
WHERE
  CAST(classes.sqlanon_classes AS HUGEINT) * :denominator > CAST(classes.sqlanon_all AS HUGEINT) * :numerator
