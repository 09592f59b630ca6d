"""How results and progress are shown: in a notebook as cards and a line, in a terminal as text."""
