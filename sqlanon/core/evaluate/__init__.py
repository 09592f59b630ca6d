"""Nodes in, verdicts out: the session, snapshots, the evaluator, and the driver with the limits of a search."""
