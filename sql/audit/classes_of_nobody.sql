-- Classes of the release none of whose records has an entity: where entities are counted, they hold none.
-- No rows: there are no such classes. Sizes only, never the values of a class.
--
-- release                      classes_of_nobody
-- age    | zip | person_id     records
-- 20-29  | 1*  | 7             1            <- the class (30-39, 1*)
-- 20-29  | 1*  |
-- 30-39  | 1*  |
SELECT
  COUNT(*) AS records
FROM release
GROUP BY
  release.quasi_identifier
HAVING
  COUNT(*) > 0
  AND COUNT(release.entity) = 0
