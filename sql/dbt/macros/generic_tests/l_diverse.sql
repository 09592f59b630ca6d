{#-
Classes of a model whose sensitive values are too few. No rows: ℓ-diversity holds.
kind: distinct  a class holds at least l distinct values;
      entropy   the entropy -Σ p ln p of its values is at least ln l (tolerance 1e-11). With counts m of n members this
                is ln n - (Σ m ln m) / n.
NULL is a value; NULLs of the quasi-identifiers are equal (extended match). Sizes only, never values.
With an entity column a value counts as often as there are distinct persons who hold it in the class. A class whose
records name no person is returned.

model                       l_diverse, l = 2, kind = entropy
age   | zip | diagnosis     records | members
20-29 | 1*  | flu           3       | 3            <- entropy 0.64 < ln 2 = 0.69
20-29 | 1*  | flu
20-29 | 1*  | cold
-#}
{% test l_diverse(model, quasi_identifiers, sensitive, l, kind='distinct', c=none, entity=none) %}
{%- do sqlanon.warn_of_increments('l_diverse') -%}
{%- do sqlanon.expect_columns('l_diverse', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_word('l_diverse', 'kind', kind, ['distinct', 'entropy', 'recursive']) -%}
{%- do sqlanon.expect_number('l_diverse', 'l', l, 1, none, whole=(kind != 'entropy')) -%}
{%- if kind == 'recursive' -%}
  {%- do sqlanon.expect_number('l_diverse', 'c', c, 0, none) -%}
{%- elif c is not none -%}
  {%- do exceptions.raise_compiler_error('l_diverse: c is of the kind recursive alone.') -%}
{%- endif %}
WITH released AS (
  SELECT
    {{ sqlanon.named_keys(quasi_identifiers) }},
    {{ sqlanon.quoted(sensitive) }} AS sensitive
    {{- sqlanon.entity_of(entity) }}
  FROM {{ model }}
), counted AS (
  SELECT
    {{ sqlanon.key_columns(quasi_identifiers) }},
    COUNT(*) AS records,
    {{ sqlanon.members(entity) }} AS members
    {%- if kind == 'recursive' %},
    ROW_NUMBER() OVER (
      PARTITION BY {{ sqlanon.key_columns(quasi_identifiers) }}
      ORDER BY {{ sqlanon.members(entity) }} DESC
    ) AS place
    {%- endif %}
  FROM released
  GROUP BY
    {{ sqlanon.key_columns(quasi_identifiers) }},
    sensitive
)
SELECT
  CAST(SUM(records) AS BIGINT) AS records,
  CAST(SUM(members) AS BIGINT) AS members
FROM counted
GROUP BY
  {{ sqlanon.key_columns(quasi_identifiers) }}
HAVING
  SUM(members) = 0
  {%- if kind != 'entropy' %}
  OR SUM(CASE WHEN members > 0 THEN 1 ELSE 0 END) < {{ l }}
  {%- endif %}
  {%- if kind == 'recursive' %}
  OR MAX(members) >= {{ c }} * CAST(SUM(CASE WHEN place >= {{ l }} THEN members ELSE 0 END) AS BIGINT)
  {%- elif kind == 'entropy' %}
  OR LN(NULLIF({{ sqlanon.double('SUM(members)') }}, 0))
    - SUM(COALESCE(members * LN(NULLIF({{ sqlanon.double('members') }}, 0)), 0))
    / NULLIF({{ sqlanon.double('SUM(members)') }}, 0) < LN({{ sqlanon.double(l) }}) - {{ sqlanon.double('1e-11') }}
  {%- endif %}
{% endtest %}
