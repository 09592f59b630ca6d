"""The keys of a policy: what each says, what it may be, and how it is written."""
