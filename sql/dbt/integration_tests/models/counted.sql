SELECT 'f' AS sex, 'north' AS region, NULL AS "count"
UNION ALL SELECT 'm', 'north', 12
UNION ALL SELECT 'Total', 'north', 15
UNION ALL SELECT 'f', 'south', 7
UNION ALL SELECT 'm', 'south', 4
UNION ALL SELECT 'Total', 'south', 11
UNION ALL SELECT 'f', 'Total', 10
UNION ALL SELECT 'm', 'Total', 16
UNION ALL SELECT 'Total', 'Total', 26
