-- One row about the values that a column of the source holds, NULL not among them: how many there are, the records that
-- hold one, those whose value nobody else has, those whose value fewer than :k owners have, and how many such values there
-- are; those whose value at most :of_a_person owners have; the records of the most frequent value; the sum of the squares
-- of the records of each value; and the records that hold a whole number.
--
-- counted: COUNT(*), or where the source holds values with their counts, the sum of these.
-- owners: the same, or with an entity COUNT(DISTINCT its column): how many have a value.
-- whole: 1 where sqlanon_value is a whole number, otherwise 0.
--
-- source              column_values, :k = 3, :of_a_person = 2
-- email               distinct_values | records | alone | few | few_values | scarce | most | squares | whole_numbers
-- a@x                 2               | 3       | 1     | 3   | 2          | 3      | 2    | 5       | 0
-- b@x
-- b@x
--
SELECT
  COUNT(*) AS distinct_values,
  CAST(COALESCE(SUM(sqlanon_records), 0) AS BIGINT) AS records,
  CAST(COALESCE(SUM(CASE WHEN sqlanon_owners = 1 THEN sqlanon_records ELSE 0 END), 0) AS BIGINT) AS alone,
  CAST(COALESCE(SUM(CASE WHEN sqlanon_owners < :k THEN sqlanon_records ELSE 0 END), 0) AS BIGINT) AS few,
  CAST(COALESCE(SUM(CASE WHEN sqlanon_owners < :k THEN 1 ELSE 0 END), 0) AS BIGINT) AS few_values,
  CAST(COALESCE(SUM(CASE WHEN sqlanon_owners <= :of_a_person THEN sqlanon_records ELSE 0 END), 0) AS BIGINT) AS scarce,
  CAST(COALESCE(MAX(sqlanon_records), 0) AS BIGINT) AS most,
  COALESCE(SUM(CAST(sqlanon_records AS DOUBLE) * sqlanon_records), 0) AS squares,
  CAST(COALESCE(SUM(sqlanon_records * whole), 0) AS BIGINT) AS whole_numbers
FROM (
  SELECT
    audited_column AS sqlanon_value,
    counted AS sqlanon_records,
    owners AS sqlanon_owners
  FROM source
  WHERE
    NOT audited_column IS NULL
  GROUP BY
    audited_column
  HAVING
    counted > 0
) AS held
