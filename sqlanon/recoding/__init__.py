"""Several rules in place of one node: patterns, and local recoding."""
