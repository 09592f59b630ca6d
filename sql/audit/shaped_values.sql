-- One row about the shapes of the values that a column of the source holds, NULL not among them: how many values there
-- are, and how many of them have each shape.
--
-- shaped: per shape, the number of values (sqlanon_value) that have it.
--
-- source              shaped_values
-- contact             distinct_values | email | phone
-- a@x.org             2               | 1     | 0
-- a@x.org
-- none
SELECT
  COUNT(*) AS distinct_values,
  shaped
FROM (
  SELECT
    audited_column AS sqlanon_value
  FROM source
  WHERE
    NOT audited_column IS NULL
  GROUP BY
    audited_column
) AS held
