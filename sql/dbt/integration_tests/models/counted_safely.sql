SELECT sex, region, CASE WHEN region <> 'Total' AND sex <> 'Total' THEN NULL ELSE "count" END AS "count"
FROM {{ ref('counted') }}
