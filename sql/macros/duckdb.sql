-- Table macros for a DBA: the audits of class sizes in DuckDB, without Python.
--
--   FROM sqlanon_small_classes('adult_released', ['age', 'sex'], 5);   -- no rows: 5-anonymity holds
--   FROM sqlanon_class_sizes('adult_released', ['age', 'sex']);        -- classes by size
--
-- relation: name of a table or view. quasi_identifiers: the exact names of its columns; a name that the relation
-- does not have is an error. NULLs count as equal (extended match). Sizes only, never values.
--
-- release       sqlanon_small_classes, k = 2     sqlanon_class_sizes
-- age | zip     records                          records | classes
-- 20  | 1*      1                                1       | 1
-- 20  | 1*                                       2       | 1
-- 20  |
CREATE OR REPLACE MACRO sqlanon_small_classes(relation, quasi_identifiers, k) AS TABLE
SELECT
  records
FROM (
  SELECT
    COUNT(*) AS records
  FROM (
    SELECT
      COLUMNS(quasi_identifiers)
    FROM query_table(relation)
  ) AS record
  GROUP BY
    record
) AS classes
WHERE
  records < k;

CREATE OR REPLACE MACRO sqlanon_class_sizes(relation, quasi_identifiers) AS TABLE
SELECT
  records,
  COUNT(*) AS classes
FROM (
  SELECT
    COUNT(*) AS records
  FROM (
    SELECT
      COLUMNS(quasi_identifiers)
    FROM query_table(relation)
  ) AS record
  GROUP BY
    record
) AS classes
GROUP BY
  records
ORDER BY
  records;
