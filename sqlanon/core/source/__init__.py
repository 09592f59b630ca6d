"""From a path to an encoded table: open, join, match hierarchies, pack codes."""
