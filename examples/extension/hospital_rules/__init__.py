"""A privacy model from outside of sqlanon."""
