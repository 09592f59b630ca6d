{#- A value as a floating-point number of 64 bits. Dispatched: the type has three names, and FLOAT has 32 bits in some. -#}
{% macro double(value) %}
  {{- return(adapter.dispatch('double', 'sqlanon')(value)) -}}
{% endmacro %}

{% macro default__double(value) %}
  {{- return('CAST(' ~ value ~ ' AS DOUBLE PRECISION)') -}}
{% endmacro %}

{% macro bigquery__double(value) %}
  {{- return('CAST(' ~ value ~ ' AS FLOAT64)') -}}
{% endmacro %}

{% macro spark__double(value) %}
  {{- return('CAST(' ~ value ~ ' AS DOUBLE)') -}}
{% endmacro %}

{% macro trino__double(value) %}
  {{- return('CAST(' ~ value ~ ' AS DOUBLE)') -}}
{% endmacro %}
