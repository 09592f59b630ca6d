"""What will be published of an encoded source, by one node or by several rules, and the release that came of it."""
