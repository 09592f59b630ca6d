{#-
All classes of a model, if the mean risk of its records, classes / records, is above the threshold; with an entity column,
classes / persons (who count once in each class). No rows: it is not. Sizes only, never the values of a class.
The comparison is exact. NULLs are equal (extended match). A class whose records name no person is a class like another,
and is returned in any case.

model               average_risk, threshold = 0.5
age   | zip         records | members
20-29 | 1*          1       | 1            <- 2 classes of 3 records
30-39 | 1*          2       | 2
30-39 | 1*
-#}
{% test average_risk(model, quasi_identifiers, threshold, entity=none) %}
{%- do sqlanon.warn_of_increments('average_risk') -%}
{%- do sqlanon.expect_columns('average_risk', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_number('average_risk', 'threshold', threshold, 0, 1) %}
{{ sqlanon.with_classes(model, quasi_identifiers, entity) }}, compared AS (
  SELECT
    records,
    members,
    COUNT(*) OVER () AS class_count,
    CAST(SUM(members) OVER () AS BIGINT) AS all_members
  FROM classes
)
SELECT
  records,
  members
FROM compared
WHERE
  members = 0
  OR class_count > all_members * {{ threshold }}
{% endtest %}
