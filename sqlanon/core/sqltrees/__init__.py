"""The building blocks of all our SQL: names, types, trees, and the files of ``sql/``, bound on the tree."""
