"""The description of every key of a policy: its JSON Schema, and the entries of its reference."""
