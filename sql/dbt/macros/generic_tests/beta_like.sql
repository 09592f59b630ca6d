{#-
Classes of a model in which a sensitive value gains more than beta on the reference: (q - p) / p, q being its share in the
class and p its share in the reference; enhanced: more than the lesser of beta and -ln p. No rows: β-likeness holds.
A value that the reference lacks gains without end. Tolerance 1e-11, relative to 1 + gain.
reference: as in t_close.
NULL is a value; NULLs of the quasi-identifiers are equal (extended match). Sizes only, never values.
With an entity column a value counts as often as there are distinct persons who hold it, in the class and in the
reference. A class whose records name no person is returned.

model                       reference     beta_like, beta = 0.5
age   | zip | diagnosis     diagnosis     records | members
20-29 | 1*  | flu           flu           2       | 2            <- (1 - 0.5) / 0.5 = 1
20-29 | 1*  | flu           cold
-#}
{% test beta_like(model, quasi_identifiers, sensitive, beta, enhanced=false, reference=none, entity=none) %}
{%- do sqlanon.warn_of_increments('beta_like') -%}
{%- do sqlanon.expect_columns('beta_like', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_number('beta_like', 'beta', beta, 0, none) -%}
{%- do sqlanon.expect_word('beta_like', 'enhanced', enhanced, [true, false]) %}
{% call sqlanon.classes_by_shares(model, quasi_identifiers, sensitive, reference, entity) %}
  MAX(
    CASE
      WHEN members = 0
      THEN 0
      WHEN COALESCE(reference_share, 0) <= 0
      THEN 1
      WHEN class_share / NULLIF(reference_share, 0) > {{ sqlanon.double(1 + beta) }} * {{ sqlanon.double(1 + 1e-11) }}
      THEN 1
      {%- if enhanced %}
      WHEN class_share / NULLIF(reference_share, 0)
        > (1 - LN(NULLIF(reference_share, 0))) * {{ sqlanon.double(1 + 1e-11) }}
      THEN 1
      {%- endif %}
      ELSE 0
    END
  ) = 1
{%- endcall %}
{% endtest %}
