"""Statements of several rules, as sqlglot trees."""
