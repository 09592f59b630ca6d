{#-
Classes of a model with a sensitive value whose share is delta or more away from that of the reference, by |log2(q / p)|:
q is its share in the class, p its share in the reference. No rows: δ-disclosure privacy holds. Tolerance 1e-13.
Values that the class lacks do not count; one that the reference lacks is infinitely far away.
reference: as in t_close.
NULL is a value; NULLs of the quasi-identifiers are equal (extended match). Sizes only, never values.
With an entity column a value counts as often as there are distinct persons who hold it, in the class and in the
reference. A class whose records name no person is returned.

model                       reference     delta_disclosure_private, delta = 1
age   | zip | diagnosis     diagnosis     records | members
20-29 | 1*  | flu           flu           2       | 2            <- log2(1 / 0.5) = 1
20-29 | 1*  | flu           cold
-#}
{% test delta_disclosure_private(model, quasi_identifiers, sensitive, delta, reference=none, entity=none) %}
{%- do sqlanon.warn_of_increments('delta_disclosure_private') -%}
{%- do sqlanon.expect_columns('delta_disclosure_private', 'quasi_identifiers', quasi_identifiers) -%}
{%- do sqlanon.expect_number('delta_disclosure_private', 'delta', delta, 0, none) %}
{% call sqlanon.classes_by_shares(model, quasi_identifiers, sensitive, reference, entity) %}
  MAX(
    CASE
      WHEN members = 0
      THEN 0
      WHEN COALESCE(reference_share, 0) <= 0
      THEN 1
      WHEN ABS(LN(NULLIF(class_share, 0) / NULLIF(reference_share, 0))) / LN({{ sqlanon.double(2) }})
        >= {{ sqlanon.double(delta) }} - {{ sqlanon.double('1e-13') }}
      THEN 1
      ELSE 0
    END
  ) = 1
{%- endcall %}
{% endtest %}
