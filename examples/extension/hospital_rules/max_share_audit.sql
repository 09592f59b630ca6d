-- hospital_rules/max_share_audit.sql
-- Classes of the release in which a value has more than the share :numerator / :denominator of the records.
-- No rows: the model holds.
SELECT
  CAST(SUM(sqlanon_count) AS BIGINT) AS records
FROM (
  SELECT
    quasi_identifier,
    COUNT(*) AS sqlanon_count
  FROM release
  GROUP BY
    quasi_identifier,
    audited_column
) AS counted
GROUP BY
  quasi_identifier
HAVING
  COUNT(*) > 0
  AND CAST(MAX(sqlanon_count) AS HUGEINT) * :denominator > CAST(SUM(sqlanon_count) AS HUGEINT) * :numerator
