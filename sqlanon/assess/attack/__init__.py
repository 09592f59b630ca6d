"""Attacks on a release beside its source, and what they find: singling out, linkability, inference."""
