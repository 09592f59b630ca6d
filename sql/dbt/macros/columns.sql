{#-
The columns of a tested model, renamed first of all, so that no name of the model meets a name of ours:
key_0, key_1, … (the quasi-identifiers), sensitive, entity. Without quasi-identifiers key_0 is the same for all records.
-#}

{#- A column's name as an identifier; a quotation mark inside it is doubled. Case counts, as the warehouse stores it. -#}
{% macro quoted(name) %}
  {%- set mark = adapter.quote('x')[0] -%}
  {{- adapter.quote((name | string) | replace(mark, mark ~ mark)) -}}
{% endmacro %}

{% macro named_keys(quasi_identifiers) %}
  {%- for name in quasi_identifiers -%}
    {{ sqlanon.quoted(name) }} AS key_{{ loop.index0 }}{{ ', ' if not loop.last }}
  {%- else -%}
    0 AS key_0
  {%- endfor -%}
{% endmacro %}

{% macro key_columns(quasi_identifiers) %}
  {%- for name in quasi_identifiers -%}
    key_{{ loop.index0 }}{{ ', ' if not loop.last }}
  {%- else -%}
    key_0
  {%- endfor -%}
{% endmacro %}

{% macro null_keys(quasi_identifiers) %}
  {%- for name in quasi_identifiers -%}
    NULL AS key_{{ loop.index0 }}{{ ', ' if not loop.last }}
  {%- else -%}
    0 AS key_0
  {%- endfor -%}
{% endmacro %}

{#- The entity column after others, or nothing. -#}
{% macro entity_of(entity) %}
  {%- if entity is not none -%}
    , {{ sqlanon.quoted(entity) }} AS entity
  {%- endif -%}
{% endmacro %}

{#- What a class is counted in: records, or distinct persons. -#}
{% macro members(entity) %}
  {{- 'COUNT(*)' if entity is none else 'COUNT(DISTINCT entity)' -}}
{% endmacro %}
