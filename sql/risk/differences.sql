-- What a reader of two states of a release sees of single records: the rows that came and went, and those of them that
-- stand alone, or among fewer than :k, in what came to or went from their class. Rows that are equal are counted: two
-- of them before and three after are one that came. A record whose values changed went and came.
--
-- earlier, later: the states. other_value: the columns that are no quasi-identifiers.
--
-- earlier      later        differences, :k = 2
-- age | ill    age | ill    came | went | came_alone | went_alone | came_among_few | went_among_few | replaced
-- 2*  | flu    2*  | flu    3    | 1    | 1          | 1          | 1              | 1              | 1
-- 2*  | flu    2*  | cold                        <- a reader of both states learns who changed, and how
--              3*  | flu                         <- a class that appears whole
--              3*  | cold
WITH changed AS (
  SELECT
    quasi_identifier,
    SUM(step) AS step
  FROM (
    SELECT
      quasi_identifier,
      other_value,
      1 AS step
    FROM later
    UNION ALL
    SELECT
      quasi_identifier,
      other_value,
      -1 AS step
    FROM earlier
  ) AS steps
  GROUP BY
    quasi_identifier,
    other_value
  HAVING
    SUM(step) <> 0
),
classes AS (
  SELECT
    SUM(CASE WHEN step > 0 THEN step ELSE 0 END) AS came,
    SUM(CASE WHEN step < 0 THEN -step ELSE 0 END) AS went
  FROM changed
  GROUP BY
    quasi_identifier
)
SELECT
  CAST(COALESCE(SUM(came), 0) AS BIGINT) AS came,
  CAST(COALESCE(SUM(went), 0) AS BIGINT) AS went,
  CAST(COALESCE(SUM(CASE WHEN came = 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS came_alone,
  CAST(COALESCE(SUM(CASE WHEN went = 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS went_alone,
  CAST(COALESCE(SUM(CASE WHEN came < :k THEN came ELSE 0 END), 0) AS BIGINT) AS came_among_few,
  CAST(COALESCE(SUM(CASE WHEN went < :k THEN went ELSE 0 END), 0) AS BIGINT) AS went_among_few,
  CAST(COALESCE(SUM(CASE WHEN came = 1 AND went = 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS replaced
FROM classes
