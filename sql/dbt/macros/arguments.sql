{#- Arguments are checked where the test is written, so that a slip stops the run and never passes as zero rows. -#}

{% macro expect_columns(test, argument, value) %}
  {%- if value is string or value is mapping or value is not iterable -%}
    {%- do exceptions.raise_compiler_error(test ~ ': ' ~ argument ~ ' must be a list of column names.') -%}
  {%- endif -%}
{% endmacro %}

{% macro expect_number(test, argument, value, least, most, whole=false) %}
  {%- if value is not number or value is boolean or (whole and value is not integer) -%}
    {%- do exceptions.raise_compiler_error(
      test ~ ': ' ~ argument ~ ' must be a ' ~ ('whole ' if whole else '') ~ 'number.') -%}
  {%- elif value < least or (most is not none and value > most) -%}
    {%- do exceptions.raise_compiler_error(
      test ~ ': ' ~ argument ~ ' must be at least ' ~ least ~ (' and at most ' ~ most if most is not none else '') ~ '.')
    -%}
  {%- endif -%}
{% endmacro %}

{% macro expect_word(test, argument, value, words) %}
  {%- if value not in words -%}
    {%- do exceptions.raise_compiler_error(
      test ~ ': ' ~ argument ~ ' must be one of: ' ~ words | join(', ') ~ '. Hint: what the package lacks, sqlanon check'
      ~ ' audits.') -%}
  {%- endif -%}
{% endmacro %}
