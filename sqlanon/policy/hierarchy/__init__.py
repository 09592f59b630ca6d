"""Generalization hierarchies: what a policy says of them (specs), files (readers), and SQL for the rest (builders)."""
