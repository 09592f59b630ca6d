"""Texts that stay: rewritten by a function, and hunted for what is not published."""
