CREATE OR REPLACE TEMPORARY VIEW $view ($schema)
USING CSV
OPTIONS (
  path '$path', header 'true', multiLine 'true', lineSep '\n', quote '"', escape '"', mode 'FAILFAST'
)

INSERT INTO $table SELECT $columns FROM $view

DROP VIEW $view
