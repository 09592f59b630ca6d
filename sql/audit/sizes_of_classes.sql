-- How many classes of a release have how many records: one row a size. Sizes only, never the values of a class.
--
-- release             sizes_of_classes
-- age                 sqlanon_records | classes
-- 20-29               1               | 1
-- 30-39               2               | 1
-- 30-39
SELECT
  sqlanon_records,
  COUNT(*) AS classes
FROM audit.classes AS counted
GROUP BY
  sqlanon_records
