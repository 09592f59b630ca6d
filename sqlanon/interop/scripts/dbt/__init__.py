"""A release as files of a dbt project: a model, its seeds and its tests."""
