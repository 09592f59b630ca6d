-- What a reader of two states of a release sees of single records: the rows that came and went, and those of them that
-- stand alone, or among fewer than :k, in what came to or went from their class. Rows that are equal are counted: two
-- of them before and three after are one that came. A record whose values changed went and came. A class is close where
-- 1 to :k - 1 came, or went, or its sizes differ by so few; close_rows came to these classes or went from them.
--
-- earlier, later: the states. other_value: the columns that are no quasi-identifiers.
--
-- earlier      later        differences, :k = 2
-- age | ill    age | ill    came | went | came_alone | went_alone | came_among_few | went_among_few | replaced
-- 2*  | flu    2*  | flu    3    | 1    | 1          | 1          | 1              | 1              | 1
-- 2*  | flu    2*  | cold                        <- a reader of both states learns who changed, and how
--              3*  | flu                         <- a class that appears whole
--              3*  | cold
WITH counted AS (
  SELECT
    quasi_identifier,
    SUM(sqlanon_later) AS sqlanon_later,
    SUM(sqlanon_earlier) AS sqlanon_earlier
  FROM (
    SELECT
      quasi_identifier,
      other_value,
      1 AS sqlanon_later,
      0 AS sqlanon_earlier
    FROM later
    UNION ALL
    SELECT
      quasi_identifier,
      other_value,
      0 AS sqlanon_later,
      1 AS sqlanon_earlier
    FROM earlier
  ) AS states
  GROUP BY
    quasi_identifier,
    other_value
  HAVING
    COUNT(*) > 0
),
classes AS (
  SELECT
    SUM(CASE WHEN sqlanon_later > sqlanon_earlier THEN sqlanon_later - sqlanon_earlier ELSE 0 END) AS came,
    SUM(CASE WHEN sqlanon_earlier > sqlanon_later THEN sqlanon_earlier - sqlanon_later ELSE 0 END) AS went,
    CASE WHEN SUM(sqlanon_later) > 0 AND SUM(sqlanon_earlier) > 0 THEN 1 ELSE 0 END AS in_both
  FROM counted
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
),
compared AS (
  SELECT
    came,
    went,
    in_both,
    CASE
      WHEN came BETWEEN 1 AND :k - 1 OR went BETWEEN 1 AND :k - 1 OR ABS(came - went) BETWEEN 1 AND :k - 1 THEN 1
      ELSE 0
    END AS close
  FROM classes
)
SELECT
  CAST(COALESCE(SUM(came), 0) AS BIGINT) AS came,
  CAST(COALESCE(SUM(went), 0) AS BIGINT) AS went,
  CAST(COALESCE(SUM(CASE WHEN came = 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS came_alone,
  CAST(COALESCE(SUM(CASE WHEN went = 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS went_alone,
  CAST(COALESCE(SUM(CASE WHEN came < :k THEN came ELSE 0 END), 0) AS BIGINT) AS came_among_few,
  CAST(COALESCE(SUM(CASE WHEN went < :k THEN went ELSE 0 END), 0) AS BIGINT) AS went_among_few,
  CAST(COALESCE(SUM(CASE WHEN came = 1 AND went = 1 THEN 1 ELSE 0 END), 0) AS BIGINT) AS replaced,
  CAST(COALESCE(SUM(in_both), 0) AS BIGINT) AS classes_in_both,
  CAST(COALESCE(SUM(close), 0) AS BIGINT) AS close_classes,
  CAST(COALESCE(SUM(CASE WHEN close = 1 THEN came + went ELSE 0 END), 0) AS BIGINT) AS close_rows
FROM compared
