"""Statements of live views, as sqlglot trees."""
