SELECT
  abs(CASE WHEN COUNT(*) = 0 THEN 0 ELSE -9223372036854775808 END) AS "stopped"
FROM (
$query
) AS "offending"
