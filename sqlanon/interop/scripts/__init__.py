"""The same release as SQL that others run: warehouse dialects and dbt projects."""
