"""What a person reads of a run: its facts, arranged as sections, as plain text and as a page."""
