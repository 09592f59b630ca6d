SELECT
  1 / CASE WHEN COUNT(*) = 0 THEN 1 ELSE 0 END AS "stopped"
FROM (
$query
) AS "offending"
