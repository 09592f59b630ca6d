{#-
The classes of a model: their records, and their members (records, or distinct persons when there is an entity column).

model               classes
age   | zip         records | members
20-29 | 1*          1       | 1
30-39 | 1*          2       | 2
30-39 | 1*
-#}
{% macro with_classes(model, quasi_identifiers, entity) %}
WITH released AS (
  SELECT
    {{ sqlanon.named_keys(quasi_identifiers) }}
    {{- sqlanon.entity_of(entity) }}
  FROM {{ model }}
), classes AS (
  SELECT
    COUNT(*) AS records,
    {{ sqlanon.members(entity) }} AS members
  FROM released
  GROUP BY
    {{ sqlanon.key_columns(quasi_identifiers) }}
)
{%- endmacro %}
