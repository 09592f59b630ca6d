{#-
Warn where the tested model is incremental. A test sees the whole table, so a class that grew by one record at a time
passes once it holds k: whoever kept the table as it was before sees that record alone. Unknown to dbt's parser: nothing
is asked before a test is executed.
-#}
{% macro warn_of_increments(test) %}
  {%- if execute and model is mapping and model.get('attached_node') -%}
    {%- set tested = graph.nodes.get(model.get('attached_node')) -%}
    {%- if tested and tested.config.materialized == 'incremental' -%}
      {%- do exceptions.warn(
        test ~ ': the model ' ~ tested.name ~ ' is incremental. The test judges the table as it is now, not what was added '
        ~ 'to it since its readers last saw it. Hint: materialize a release as a table.') -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}
