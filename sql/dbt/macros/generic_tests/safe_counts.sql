{#-
Faults of a model that is a table of counts with totals, a row a cell, in which a suppressed count is NULL: counts from 1
to below the threshold, and lines of a dimension, its total among them, in which one cell alone is suppressed, so that
the others tell it. No rows: there are none. That suppressed cells cannot be computed from several lines together, this
does not say: sqlanon counts sees to that, and sqlanon check --counts judges it. Numbers of faults only, never a value.

model                  safe_counts, dimensions = ['sex', 'region'], threshold = 5
sex   | region | count     fault                  | cells
f     | north  | NULL      alone in a line of sex | 1        <- total - m tells f
m     | north  | 12
Total | north  | 15
-#}
{% test safe_counts(model, dimensions, threshold, count_column='count', total='Total') %}
{%- do sqlanon.warn_of_increments('safe_counts') -%}
{%- do sqlanon.expect_columns('safe_counts', 'dimensions', dimensions) -%}
{%- do sqlanon.expect_number('safe_counts', 'threshold', threshold, 2, none, true) -%}
{%- set counted = adapter.quote(count_column) %}
WITH faults AS (
  SELECT
    'below the threshold' AS fault,
    COUNT(*) AS cells
  FROM {{ model }}
  WHERE
    {{ counted }} > 0
    AND {{ counted }} < {{ threshold }}
{%- for dimension in dimensions %}
  UNION ALL
  SELECT
    '{{ ('alone in a line of ' ~ dimension) | replace("'", "''") }}' AS fault,
    COUNT(*) AS cells
  FROM (
    SELECT
      1 AS line
    FROM {{ model }}
  {%- if dimensions | length > 1 %}
    GROUP BY
    {%- for other in dimensions if other != dimension %}
      {{ adapter.quote(other) }}{{ ',' if not loop.last }}
    {%- endfor %}
  {%- endif %}
    HAVING
      SUM(CASE WHEN {{ adapter.quote(dimension) }} = '{{ total | replace("'", "''") }}' THEN 1 ELSE 0 END) > 0
      AND SUM(CASE WHEN {{ counted }} IS NULL THEN 1 ELSE 0 END) = 1
  ) AS lines
{%- endfor %}
)
SELECT
  fault,
  cells
FROM faults
WHERE
  cells > 0
{% endtest %}
