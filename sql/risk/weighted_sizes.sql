-- How many classes of a sample have how many records and which sum of weights: one row a pair of both.
--
-- relation: the records that take part. weight: what a record stands for, as a DOUBLE. unusable: the records of these
-- classes whose weight is missing, no number, or not positive; there must be none.
--
-- relation                weighted_sizes
-- age | zip | weight      size | weight | unusable | classes
-- 20  | 1*  | 10          1    | 12.5   | 0        | 1
-- 20  | 1*  | 20          2    | 30     | 0        | 1
-- 20  |     | 12.5
SELECT
  size,
  weight,
  unusable,
  CAST(COUNT(*) AS BIGINT) AS classes
FROM (
  SELECT
    CAST(COUNT(*) AS BIGINT) AS size,
    SUM(record_weight) AS weight,
    CAST(SUM(CASE WHEN record_weight > 0 THEN 0 ELSE 1 END) AS BIGINT) AS unusable
  FROM relation
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS classes
GROUP BY
  size,
  weight,
  unusable
