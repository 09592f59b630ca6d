"""Plans of an encoded source, by one node or by several rules, and the releases that came of them."""
