-- The sensitive values of each class of the release, as texts, with their records and those of the class. NULL is a value.
--
-- release                     values_of_classes
-- age   | zip | diagnosis     age   | zip | sqlanon_value | sqlanon_count | sqlanon_size
-- 20-29 | 1*  | flu           20-29 | 1*  | flu           | 2             | 3
-- 20-29 | 1*  | flu           20-29 | 1*  | cold          | 1             | 3
-- 20-29 | 1*  | cold
SELECT
  quasi_identifier,
  CAST(audited_column AS TEXT) AS sqlanon_value,
  COUNT(*) AS sqlanon_count,
  SUM(COUNT(*)) OVER (PARTITION BY quasi_identifier) AS sqlanon_size
FROM release
GROUP BY
  quasi_identifier,
  CAST(audited_column AS TEXT)
