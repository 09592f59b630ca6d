"""The building blocks of all our SQL: names, types, trees, and the files of ``sql/``, bound on the tree."""

from sqlglot import generator

from sqlanon.errors import UnsupportedError

if str(generator.__file__).endswith((".so", ".pyd")):  # its classes cannot be extended, as dialects are
    raise UnsupportedError(
        "The compiled parts of sqlglot are installed, whose dialects cannot be extended.",
        hint="pip uninstall sqlglotc (or leave sqlglot[c] out of the environment).",
    )
