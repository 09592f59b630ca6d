-- Classes of the release whose sensitive values are farther than :t from those of the reference in a hierarchy: the mean,
-- over the :levels levels below the root, of ½ Σ |p - P| over the generalized values of the level, those that the class
-- lacks included. Tolerance 1e-11. No rows: t-closeness holds. Sizes only, never values.
-- reference: value (text) and records, over all records before suppression.
-- hierarchy: value (text), level, ancestor (text), one row per value and level below the root.
--
-- release                     reference          hierarchy                   t_closeness_hierarchical, :t = 0.2
-- age   | zip | diagnosis     value | records    value | level | ancestor    records
-- 20-29 | 1*  | flu           flu   | 5          flu   | 0     | flu         2
-- 20-29 | 1*  | flu           cold  | 5          flu   | 1     | airways
SELECT
  CAST(MAX(sqlanon_size) AS BIGINT) AS records
FROM (
  SELECT
    quasi_identifier,
    sqlanon_level,
    MAX(sqlanon_size) AS sqlanon_size,
    (
      SUM(ABS(sqlanon_count / sqlanon_size - sqlanon_share)) + 1 - SUM(sqlanon_share)
    ) / 2 AS sqlanon_distance
  FROM (
    SELECT
      quasi_identifier,
      sqlanon_level,
      sqlanon_ancestor,
      SUM(counted.sqlanon_count) AS sqlanon_count,
      MAX(counted.sqlanon_size) AS sqlanon_size,
      MAX(sqlanon_share) AS sqlanon_share
    FROM audit.values_of_classes AS counted
    LEFT JOIN (
      SELECT
        hierarchy.value AS sqlanon_text,
        hierarchy.level AS sqlanon_level,
        hierarchy.ancestor AS sqlanon_ancestor,
        CAST(SUM(COALESCE(reference.records, 0)) OVER (PARTITION BY hierarchy.level, hierarchy.ancestor) AS DOUBLE)
          / SUM(COALESCE(reference.records, 0)) OVER (PARTITION BY hierarchy.level) AS sqlanon_share
      FROM hierarchy
      LEFT JOIN reference
        ON reference.value IS NOT DISTINCT FROM hierarchy.value
    ) AS places
      ON places.sqlanon_text IS NOT DISTINCT FROM counted.sqlanon_value
    GROUP BY
      quasi_identifier,
      sqlanon_level,
      sqlanon_ancestor
  ) AS shares
  GROUP BY
    quasi_identifier,
    sqlanon_level
) AS leveled
GROUP BY
  leveled.quasi_identifier
HAVING
  COUNT(*) > 0
  AND (
    SUM(CASE WHEN sqlanon_level IS NULL THEN 1 ELSE 0 END) > 0
    OR SUM(sqlanon_distance) / :levels > :t + 1e-11
  )
