"""Several tables that are published together: their rows stay linked by pseudonyms, and persons are counted by them."""
