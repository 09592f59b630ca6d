{#-
Classes of a model with fewer than k records, or, with an entity column, fewer than k distinct persons.
No rows: k-anonymity holds on the quasi-identifiers.
GROUP BY treats NULLs as equal (extended match). Sizes only, never the values of a class.
Without quasi-identifiers all records are one class. A record whose entity is NULL belongs to no person.

model                               k_anonymous, k = 2, entity = person
age    | zip | person               records | members
20-29  | 1*  | 1                    2       | 1            <- the class (20-29, 1*): one person, two records
20-29  | 1*  | 1                    1       | 1            <- the class (20-29, NULL)
20-29  |     | 2
-#}
{% test k_anonymous(model, quasi_identifiers, k, entity=none) %}
{%- do sqlanon.warn_of_increments('k_anonymous') -%}
{%- do sqlanon.expect_columns('k_anonymous', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_number('k_anonymous', 'k', k, 1, none, whole=true) %}
WITH released AS (
  SELECT
    {{ sqlanon.named_keys(quasi_identifiers) }}
    {{- sqlanon.entity_of(entity) }}
  FROM {{ model }}
)
SELECT
  COUNT(*) AS records,
  {{ sqlanon.members(entity) }} AS members
FROM released
GROUP BY
  {{ sqlanon.key_columns(quasi_identifiers) }}
HAVING
  {{ sqlanon.members(entity) }} < {{ k }}
{% endtest %}
