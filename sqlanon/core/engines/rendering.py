"""What the dialects share: how a tree becomes text, and rules that more than one dialect needs."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import exp
from sqlglot.errors import ErrorLevel
from sqlglot.errors import UnsupportedError as NotWritten
from sqlglot.generator import Generator

from sqlanon.core.sqltrees.trees import equal
from sqlanon.errors import UnsupportedError, instead_of

INSTEAD = "copy the source into a DuckDB or Parquet file and run the policy on that."

UNSIGNED: Final[dict[exp.DType, str]] = {
    exp.DType.UBIGINT: "DECIMAL(20, 0)",
    exp.DType.UINT: "BIGINT",
    exp.DType.USMALLINT: "INT",
    exp.DType.UTINYINT: "SMALLINT",
}
"""The types that hold all values of unsigned integers, for databases that have none."""

SETTINGS: Final[dict[str, Any]] = {"identify": True, "comments": False, "unsupported_level": ErrorLevel.RAISE}
"""The settings of every generator: identifiers are quoted, and what the dialect lacks is refused."""


class OwnMethods(Generator):
    """A generator of sqlglot that writes some nodes by methods of its own (``anyvalue_sql``).

    A class names those nodes by ``replaces``: otherwise a transform of its base would win over the method.
    """

    def __init_subclass__(cls, replaces: tuple[type[exp.Expr], ...] = ()) -> None:
        super().__init_subclass__()
        replaced = (exp.Greatest, exp.Least, *replaces)
        cls.TRANSFORMS = {kind: rule for kind, rule in cls.TRANSFORMS.items() if kind not in replaced}

    def greatest_sql(self, expression: exp.Greatest) -> str:
        """Write the function as it is: it leaves NULLs out, as in DuckDB."""
        return self.func("GREATEST", expression.this, *expression.expressions)

    def least_sql(self, expression: exp.Least) -> str:
        """Write the function as it is: it leaves NULLs out, as in DuckDB."""
        return self.func("LEAST", expression.this, *expression.expressions)


def generate(generator: Generator, statement: exp.Expr, product: str, *, hint: str = INSTEAD) -> str:
    """Return the text of ``statement``.

    Raises:
        UnsupportedError: the dialect of ``product`` lacks something.
    """
    what = f"A statement cannot be written in the SQL of {product}"
    with instead_of(NotWritten, lambda error: UnsupportedError(f"{what} ({error}).", hint=hint)):
        return generator.generate(statement, copy=True)


def same_texts(node: exp.Expr) -> exp.Expr:
    """Return ``COALESCE(a, '') = COALESCE(b, '') AND (a IS NULL) = (b IS NULL)`` for ``a IS NOT DISTINCT FROM b``.

    A database can hash equalities where it would compare every row with every other. Our joins compare texts only.
    """
    sides = (node.this, node.expression)
    texts = [exp.Coalesce(this=side.copy(), expressions=[exp.Literal.string("")]) for side in sides]
    nulls = [exp.paren(exp.Is(this=side.copy(), expression=exp.null())) for side in sides]
    both: exp.Expr = exp.paren(exp.and_(equal(*texts), equal(*nulls), copy=False), copy=False)
    return both
