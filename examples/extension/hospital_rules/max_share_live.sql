-- hospital_rules/max_share_live.sql
-- A class of a live view passes when its most frequent value has at most the share :numerator / :denominator.
SELECT
  CAST(MAX(n) AS HUGEINT) * :denominator <= CAST(SUM(n) AS HUGEINT) * :numerator AS passes
FROM histogram
