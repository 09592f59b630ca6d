-- The values that an attacker knows, where no policy says which there are: those of the source, and those of a release
-- that are numbers or moments, each with its number and with what is equal to it at each distance.
--
-- listed: the distinct values of source (of_source = 1) and release (0), as attribute and value.
-- At distance 0 a value is equal to itself. In a column of numbers alone those are equal at distance 1 that are in the
-- same of :many parts of the values, and at distance 2 in the same of :few; in a column of texts, the same texts.
--
-- amount is the number of a value that is no moment and no NaN: what ranges and bounds mean.
--
-- listed, :many = 3, :few = 2              known_values (without amount)
-- attribute | value | of_source            attribute | value | of_source | number | v | near 0 | near 1 | near 2
-- 0         | 20    | 1                    0         | 20    | 1         | 20     | 1 | 1      | -1     | -1
-- 0         | 25    | 1                    0         | 25    | 1         | 25     | 2 | 2      | -2     | -1
-- 0         | 31    | 0                    0         | 31    | 0         | 31     | 3 | 3      | -3     | -2
-- 0         | x     | 0
SELECT
  attribute,
  value,
  of_source,
  number,
  amount,
  v,
  v AS sqlanon_near_0,
  CASE
    WHEN number IS NULL OR has_texts = 1
    THEN v
    ELSE -CAST(NTILE(:many) OVER (PARTITION BY attribute ORDER BY number NULLS LAST, value NULLS LAST) AS BIGINT)
  END AS sqlanon_near_1,
  CASE
    WHEN number IS NULL OR has_texts = 1
    THEN v
    ELSE -CAST(NTILE(:few) OVER (PARTITION BY attribute ORDER BY number NULLS LAST, value NULLS LAST) AS BIGINT)
  END AS sqlanon_near_2
FROM (
  SELECT
    *,
    CASE WHEN NOT ISNAN(TRY_CAST(value AS DOUBLE)) THEN TRY_CAST(value AS DOUBLE) END AS amount,
    CAST(DENSE_RANK() OVER (PARTITION BY attribute ORDER BY number NULLS LAST, value NULLS LAST) AS BIGINT) AS v,
    MAX(CASE WHEN of_source = 1 AND NOT value IS NULL AND number IS NULL THEN 1 ELSE 0 END) OVER (
      PARTITION BY attribute
    ) AS has_texts
  FROM (
    SELECT
      attribute,
      value,
      MAX(of_source) AS of_source,
      COALESCE(TRY_CAST(value AS DOUBLE), EPOCH(TRY_CAST(value AS TIMESTAMP))) AS number
    FROM listed
    GROUP BY
      attribute,
      value
  ) AS numbered
  WHERE
    of_source = 1 OR NOT number IS NULL
) AS ranked
