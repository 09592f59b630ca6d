"""Releases in cohorts: records come and go in groups, from release to release of one policy."""
