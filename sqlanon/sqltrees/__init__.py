"""The small words of which all our SQL is made: names, types, trees, and the files of the top-level ``sql/`` bound on the tree."""
