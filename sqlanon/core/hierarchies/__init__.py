"""Generalization hierarchies: what a policy specifies (specs), files (readers), and SQL for the rest (builders)."""
