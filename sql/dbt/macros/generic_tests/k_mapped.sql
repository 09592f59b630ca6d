{#-
Classes of a model that fewer than k records of a population belong to, or, with an entity column, fewer than k distinct
persons. No rows: k-map holds on the quasi-identifiers.
population: a relation that holds the quasi-identifiers under the same names, in the same types and generalized as in the
model, and the entity column when there is one.
NULLs are equal (extended match), in the population too. Sizes only, never the values of a class.

model           population     k_mapped, k = 3
age   | zip     age   | zip    records | members
20-29 | 1*      20-29 | 1*     2       | 2            <- two of the population
20-29 | 1*      20-29 | 1*
-#}
{% test k_mapped(model, quasi_identifiers, k, population, entity=none) %}
{%- do sqlanon.warn_of_increments('k_mapped') -%}
{%- do sqlanon.expect_columns('k_mapped', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_number('k_mapped', 'k', k, 1, none, whole=true) %}
WITH released AS (
  SELECT
    {{ sqlanon.named_keys(quasi_identifiers) }}
    {{- sqlanon.entity_of(entity) }}
  FROM {{ model }}
), everybody AS (
  SELECT
    {{ sqlanon.named_keys(quasi_identifiers) }}
    {{- sqlanon.entity_of(entity) }}
  FROM {{ population }}
), counted AS (
  SELECT
    {{ sqlanon.key_columns(quasi_identifiers) }},
    COUNT(*) AS records,
    {{ sqlanon.members(entity) }} AS members,
    0 AS population_members
  FROM released
  GROUP BY
    {{ sqlanon.key_columns(quasi_identifiers) }}
  UNION ALL
  SELECT
    {{ sqlanon.key_columns(quasi_identifiers) }},
    0 AS records,
    0 AS members,
    {{ sqlanon.members(entity) }} AS population_members
  FROM everybody
  GROUP BY
    {{ sqlanon.key_columns(quasi_identifiers) }}
)
SELECT
  CAST(SUM(records) AS BIGINT) AS records,
  CAST(SUM(members) AS BIGINT) AS members
FROM counted
GROUP BY
  {{ sqlanon.key_columns(quasi_identifiers) }}
HAVING
  SUM(records) > 0
  AND (
    SUM(members) = 0
    OR SUM(population_members) < {{ k }}
  )
{% endtest %}
