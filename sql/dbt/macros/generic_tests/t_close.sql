{#-
Classes of a model whose sensitive values are farther than t from those of the reference. No rows: t-closeness holds.
distance: equal  ½ Σ |p - P| over all values, p being a value's share in the class and P its share in the reference;
                 values that the class lacks add their P. Tolerance 1e-11.
reference: a relation that holds the sensitive column (and the entity column, when there is one), normally the records
before suppression. Without it the model is compared with itself.
NULL is a value; NULLs of the quasi-identifiers are equal (extended match). Sizes only, never values.
With an entity column a value counts as often as there are distinct persons who hold it, in the class and in the
reference. A class whose records name no person is returned; so is every class when the reference is empty.

model                       reference     t_close, t = 0.2
age   | zip | diagnosis     diagnosis     records | members
20-29 | 1*  | flu           flu           2       | 2            <- ½ (0.5 + 0.5)
20-29 | 1*  | flu           cold
-#}
{% test t_close(model, quasi_identifiers, sensitive, t, distance='equal', reference=none, entity=none) %}
{%- do sqlanon.warn_of_increments('t_close') -%}
{%- do sqlanon.expect_columns('t_close', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_word('t_close', 'distance', distance, ['equal']) -%}
{%- do sqlanon.expect_number('t_close', 't', t, 0, 1) %}
{% call sqlanon.classes_by_shares(model, quasi_identifiers, sensitive, reference, entity) %}
  COUNT(reference_share) = 0
  OR (SUM(ABS(class_share - reference_share)) + 1 - SUM(reference_share)) / 2
    > {{ sqlanon.double(t) }} + {{ sqlanon.double('1e-11') }}
{%- endcall %}
{% endtest %}
