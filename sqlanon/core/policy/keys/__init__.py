"""The keys of a policy: the meaning of each, its values, and how it is written."""
