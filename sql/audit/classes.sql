-- The classes of the release with their records. GROUP BY treats NULLs as equal (extended match).
--
-- release             classes
-- age   | zip         age   | zip | sqlanon_records
-- 20-29 | 1*          20-29 | 1*  | 2
-- 20-29 | 1*          20-29 |     | 1
-- 20-29 |
SELECT
  quasi_identifier,
  COUNT(*) AS sqlanon_records
FROM release
GROUP BY
  quasi_identifier
HAVING
  COUNT(*) > 0
