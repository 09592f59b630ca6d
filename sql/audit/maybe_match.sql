-- What an attacker sees who takes NULL for a wildcard: per class of the release (extended match) its records, the
-- records that match it under the right maybe match (a NULL of the release is a wildcard), and those that match it
-- under the maybe match (a NULL on either side is). Sizes only, never values.
-- known is what the attacker knows of a person, released what stands in the release.
-- An audit of what the attacker gains; it never justifies a release. It compares every class with every class: this is
-- the definition, and sqlanon computes the same with joins by hash (sqlanon/assess/relations/maybe.py).
--
-- release       maybe_match
-- age | zip     records | right_maybe | maybe
-- 20  | 1*      2       | 3           | 3         <- (20, 1*), and (20, NULL) may be one of them
-- 20  | 1*      1       | 1           | 3         <- (20, NULL): who knows of a NULL singles the record out
-- 20  |
SELECT
  known.sqlanon_records AS records,
  CAST(SUM(
    CASE
      WHEN ALL_OF(released.quasi_identifier = known.quasi_identifier OR released.quasi_identifier IS NULL)
      THEN released.sqlanon_records
      ELSE 0
    END
  ) AS BIGINT) AS right_maybe,
  CAST(SUM(
    CASE
      WHEN ALL_OF(
        released.quasi_identifier = known.quasi_identifier
        OR released.quasi_identifier IS NULL
        OR known.quasi_identifier IS NULL
      )
      THEN released.sqlanon_records
      ELSE 0
    END
  ) AS BIGINT) AS maybe
FROM (
  SELECT
    quasi_identifier,
    COUNT(*) AS sqlanon_records,
    ROW_NUMBER() OVER () AS sqlanon_class
  FROM release
  GROUP BY
    quasi_identifier
  HAVING
    COUNT(*) > 0
) AS known
CROSS JOIN (
  SELECT
    quasi_identifier,
    COUNT(*) AS sqlanon_records
  FROM release
  GROUP BY
    quasi_identifier
) AS released
GROUP BY
  known.sqlanon_class,
  known.sqlanon_records
