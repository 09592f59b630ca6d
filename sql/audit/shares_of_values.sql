-- The sensitive values of each class of the release with their records, their share in the class (q) and their share in the
-- reference (p), which is NULL where the reference lacks the value.
-- reference: value (text) and records, over all records before suppression. NULL is a value.
--
-- release                     reference          shares_of_values
-- age   | zip | diagnosis     value | records    age   | zip | sqlanon_count | sqlanon_share | sqlanon_overall
-- 20-29 | 1*  | flu           flu   | 5          20-29 | 1*  | 2             | 1             | 0.5
-- 20-29 | 1*  | flu           cold  | 5
SELECT
  counted.quasi_identifier,
  counted.sqlanon_count AS sqlanon_count,
  CAST(counted.sqlanon_count AS DOUBLE) / counted.sqlanon_size AS sqlanon_share,
  overall.sqlanon_share AS sqlanon_overall
FROM audit.values_of_classes AS counted
LEFT JOIN (
  SELECT
    value AS sqlanon_text,
    CAST(records AS DOUBLE) / SUM(records) OVER () AS sqlanon_share
  FROM reference
) AS overall
  ON overall.sqlanon_text IS NOT DISTINCT FROM counted.sqlanon_value
