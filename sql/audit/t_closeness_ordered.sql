-- Classes of the release whose sensitive values are farther than :t from those of the reference, the values standing in a
-- row: Σ over all places of |cumulative share in the class - cumulative share in the reference| / (number of places - 1).
-- Tolerance 1e-11. No rows: t-closeness holds. Sizes only, never values.
-- reference: value (text), records and place (1, 2, …), over all records before suppression.
--
-- release                     reference                  t_closeness_ordered, :t = 0.2
-- age   | zip | stage         value | records | place    records
-- 20-29 | 1*  | I             I     | 1       | 1        2            <- |1 - 0.33| + |1 - 0.67| = 1, over 2 = 0.5
-- 20-29 | 1*  | I             II    | 1       | 2
--                             III   | 1       | 3
SELECT
  CAST(MAX(sqlanon_size) AS BIGINT) AS records
FROM (
  SELECT
    quasi_identifier,
    sqlanon_size,
    sqlanon_places,
    sqlanon_count,
    ABS(
      SUM(sqlanon_count / sqlanon_size - sqlanon_share) OVER (PARTITION BY quasi_identifier ORDER BY sqlanon_place)
    ) AS sqlanon_work
  FROM (
    SELECT
      quasi_identifier,
      places.sqlanon_place AS sqlanon_place,
      MAX(counted.sqlanon_size) AS sqlanon_size,
      MAX(places.sqlanon_places) AS sqlanon_places,
      MAX(places.sqlanon_share) AS sqlanon_share,
      SUM(CASE WHEN places.sqlanon_text IS NOT DISTINCT FROM counted.sqlanon_value THEN counted.sqlanon_count ELSE 0 END)
        AS sqlanon_count
    FROM audit.values_of_classes AS counted
    CROSS JOIN (
      SELECT
        value AS sqlanon_text,
        place AS sqlanon_place,
        COUNT(*) OVER () AS sqlanon_places,
        CAST(records AS DOUBLE) / SUM(records) OVER () AS sqlanon_share
      FROM reference
    ) AS places
    GROUP BY
      quasi_identifier,
      places.sqlanon_place
  ) AS dense
) AS measured
GROUP BY
  measured.quasi_identifier
HAVING
  COUNT(*) > 0
  AND (
    SUM(sqlanon_count) <> MAX(sqlanon_size)
    OR COALESCE(SUM(sqlanon_work) / NULLIF(MAX(sqlanon_places) - 1, 0), 0) > :t + 1e-11
  )
