SELECT
  throwIf(COUNT(*) > 0, 'sqlanon: an audit found rows; do not publish this release') AS `stopped`
FROM (
$query
) AS `offending`
