SELECT
  CASE WHEN COUNT(*) = 0 THEN 0 ELSE raise_error('sqlanon: an audit found rows; do not publish this release') END AS `stopped`
FROM (
$query
) AS `offending`
