INSERT INTO $table
SELECT $columns
FROM READ_FILES(
  '/Volumes/YOUR-CATALOG/YOUR-SCHEMA/YOUR-VOLUME/$file', format => 'csv', schema => '$schema', header => TRUE,
  multiLine => TRUE, lineSep => '\n', quote => '"', escape => '"', mode => 'FAILFAST'
)
