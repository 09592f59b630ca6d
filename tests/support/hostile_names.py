"""Column names that break statements whose author forgot to quote."""

NAMES = ["order", 'a"b', "key_0", "n", "x; DROP TABLE t", "x" * 70, "value", "level_0", "node", "source", "é ü"]
