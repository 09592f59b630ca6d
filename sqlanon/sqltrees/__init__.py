"""The small words of which all our SQL is made: names, types, trees, and the files of ``sql/`` bound on the tree."""
