{#-
The classes of a model that meet the condition of the call, and those whose records name no person. The condition is about the
values of a class with their shares (shared): class_share among the members of the class, reference_share among those of the
reference (the model itself, when there is none). Rows of values that only the reference has say is_reference = 1.

model                       reference     shared
age   | zip | diagnosis     diagnosis     key_0 | key_1 | records | members | is_reference | class_share | reference_share
20-29 | 1*  | flu           flu           20-29 | 1*    | 2       | 2       | 0            | 1           | 0.5
20-29 | 1*  | flu           cold          NULL  | NULL  | 0       | 0       | 1            |             | 0.5
-#}
{% macro classes_by_shares(model, quasi_identifiers, sensitive, reference, entity) %}
WITH released AS (
  SELECT
    {{ sqlanon.named_keys(quasi_identifiers) }},
    {{ sqlanon.quoted(sensitive) }} AS sensitive
    {{- sqlanon.entity_of(entity) }}
  FROM {{ model }}
), compared AS (
  SELECT
    {{ sqlanon.quoted(sensitive) }} AS sensitive
    {{- sqlanon.entity_of(entity) }}
  FROM {{ reference or model }}
), counted AS (
  SELECT
    {{ sqlanon.key_columns(quasi_identifiers) }},
    sensitive,
    COUNT(*) AS records,
    {{ sqlanon.members(entity) }} AS members,
    0 AS compared_members,
    0 AS is_reference
  FROM released
  GROUP BY
    {{ sqlanon.key_columns(quasi_identifiers) }},
    sensitive
  UNION ALL
  SELECT
    {{ sqlanon.null_keys(quasi_identifiers) }},
    sensitive,
    0 AS records,
    0 AS members,
    {{ sqlanon.members(entity) }} AS compared_members,
    1 AS is_reference
  FROM compared
  GROUP BY
    sensitive
), shared AS (
  SELECT
    {{ sqlanon.key_columns(quasi_identifiers) }},
    records,
    members,
    is_reference,
    {{ sqlanon.double('members') }}
      / NULLIF(SUM(members) OVER (PARTITION BY is_reference, {{ sqlanon.key_columns(quasi_identifiers) }}), 0) AS class_share,
    {{ sqlanon.double('SUM(compared_members) OVER (PARTITION BY sensitive)') }}
      / NULLIF(SUM(compared_members) OVER (), 0) AS reference_share
  FROM counted
)
SELECT
  CAST(SUM(records) AS BIGINT) AS records,
  CAST(SUM(members) AS BIGINT) AS members
FROM shared
WHERE
  is_reference = 0
GROUP BY
  {{ sqlanon.key_columns(quasi_identifiers) }}
HAVING
  SUM(members) = 0
  OR {{ caller() }}
{%- endmacro %}
