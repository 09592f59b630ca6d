-- Six visits of five persons: two classes of three visits; in each class two diagnoses.
{{ config(materialized='table') }}
{% set rows = [
  ('20-29', '1*', 'flu', 1), ('20-29', '1*', 'cold', 2), ('20-29', '1*', 'flu', 3),
  ('30-39', none, 'flu', 4), ('30-39', none, 'flu', 5), ('30-39', none, 'cold', 5),
] %}
{% for age, zip, diagnosis, person in rows %}
SELECT
  '{{ age }}' AS age,
  CAST({{ 'NULL' if zip is none else "'" ~ zip ~ "'" }} AS VARCHAR(10)) AS zip,
  '{{ diagnosis }}' AS diagnosis,
  {{ person }} AS person
{{ 'UNION ALL' if not loop.last }}
{% endfor %}
