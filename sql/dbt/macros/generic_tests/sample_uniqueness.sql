{#-
The classes of one record, if these are more than a share of all records of a model; with an entity column, of one person
(persons count once in each class). No rows: they are not. Sizes only, never the values of a class.
The comparison is exact. NULLs are equal (extended match). A class whose records name no person is returned in any case,
and counts for nothing else.

model               sample_uniqueness, threshold = 0.25
age   | zip         records | members
20-29 | 1*          1       | 1            <- 1 of 3 records
30-39 | 1*
30-39 | 1*
-#}
{% test sample_uniqueness(model, quasi_identifiers, threshold, entity=none) %}
{%- do sqlanon.warn_of_increments('sample_uniqueness') -%}
{%- do sqlanon.expect_columns('sample_uniqueness', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_number('sample_uniqueness', 'threshold', threshold, 0, 1) %}
{{ sqlanon.with_classes(model, quasi_identifiers, entity) }}, compared AS (
  SELECT
    records,
    members,
    CAST(SUM(CASE WHEN members = 1 THEN 1 ELSE 0 END) OVER () AS BIGINT) AS alone,
    CAST(SUM(members) OVER () AS BIGINT) AS all_members
  FROM classes
)
SELECT
  records,
  members
FROM compared
WHERE
  members = 0
  OR (members = 1 AND alone > all_members * {{ threshold }})
{% endtest %}
