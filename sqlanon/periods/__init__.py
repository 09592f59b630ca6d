"""Releases by closed periods: each once, at the levels of the first run, beside the earlier ones."""
