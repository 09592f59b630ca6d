"""Presets: what is known of the tables of schemas that many people have, as data, and how a profile follows them."""
