"""Loss against protection: the best release for each of several policies."""
