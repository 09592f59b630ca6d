"""How our statements read in Spark SQL (4.0 and newer, ANSI mode), where sqlglot would leave them as in DuckDB's.

Each rule keeps the meaning of the tree. What has no equal raises an ``UnsupportedError`` and is never passed through.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator

from sqlanon.core.engines.rendering import SETTINGS, UNSIGNED, OwnMethods, generate
from sqlanon.core.sqltrees.trees import column, named

DIALECT = "spark"

TYPES: dict[exp.DType, str] = {
    exp.DType.INT128: "DECIMAL(38, 0)",
    exp.DType.UINT128: "DECIMAL(38, 0)",
    **UNSIGNED,
    exp.DType.TIMESTAMP: "TIMESTAMP_NTZ",
}
"""The types for integers that Spark lacks: in ANSI mode a value that does not fit is an error. Spark's TIMESTAMP has a
time zone."""
MISSING_TYPES = (exp.DType.UUID, exp.DType.TIME, exp.DType.TIMETZ)
"""The types that Spark lacks and sqlglot would replace silently."""

NAMED_TYPES: dict[str, str] = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}
"""The words that policies and compiler use for types of Spark."""

FUNCTIONS = frozenset(
    ("LEFT", "RIGHT", "LPAD", "RPAD", "REPLACE", "YEAR", "QUARTER", "STRUCT", "MAX_BY", "RANGE", "LENGTH", "UPPER")
)
"""The functions that trees call by name (``exp.Anonymous``) and that mean the same in Spark."""
PATTERNS: dict[str, str] = {"%Y-%m-%d": "yyyy-MM-dd", "%Y-%m": "yyyy-MM", "%Y": "yyyy"}
"""The patterns of STRFTIME that hierarchies of dates use, in the words of DATE_FORMAT."""


class SparkWriter(OwnMethods, SparkGenerator, replaces=(exp.AnyValue, exp.TryCast, exp.BitwiseLeftShift)):
    """Spark's generator with our rules."""

    def datatype_sql(self, expression: exp.DataType) -> str:
        if expression.this in MISSING_TYPES:
            self.unsupported(f"the type {expression.this.value}")
        return TYPES[expression.this] if expression.this in TYPES else super().datatype_sql(expression)

    def cte_sql(self, expression: exp.CTE) -> str:
        """Leave MATERIALIZED out, which Spark lacks: its planner shares an exchange that occurs twice."""
        if expression.args.get("materialized") is not None:
            expression = expression.copy()
            expression.set("materialized", None)
        return super().cte_sql(expression)

    def anyvalue_sql(self, expression: exp.AnyValue) -> str:
        """Write the function that returns a value that is not NULL, as in DuckDB."""
        return f"{self.func('ANY_VALUE', expression.this)} IGNORE NULLS"

    def collate_sql(self, expression: exp.Collate) -> str:
        """Leave the collation out: texts are compared byte by byte anyway."""
        return self.sql(expression, "this")

    def add_sql(self, expression: exp.Add) -> str:
        """Keep a float to which 0 is added (for the canonical text of -0.0): with an INT it would become a DOUBLE."""
        if expression.expression == exp.Literal.number(0):
            return f"{self.sql(expression, 'this')} + 0F"
        return super().add_sql(expression)

    def trycast_sql(self, expression: exp.TryCast) -> str:
        """Write a cast that returns NULL where the value does not read as the type; sqlglot writes CAST unless it knows
        of a text."""
        return f"TRY_CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

    def bitwiseleftshift_sql(self, expression: exp.BitwiseLeftShift) -> str:
        return self.func("SHIFTLEFT", exp.cast(expression.this, "BIGINT"), expression.expression)

    def window_sql(self, expression: exp.Window) -> str:
        """Number rows by what is selected beside the number, where their order does not matter. Spark needs an order,
        and one that stays the same when rows are computed again after the loss of an executor."""
        query = expression.find_ancestor(exp.Select)
        if isinstance(expression.this, exp.RowNumber) and not expression.args.get("order"):
            beside = [c.copy() for c in query.expressions if isinstance(c, exp.Column)] if query else []
            if not beside:
                self.unsupported("ROW_NUMBER without an order")
            expression = expression.copy()
            expression.set("order", exp.Order(expressions=[exp.Ordered(this=c) for c in beside]))
        return super().window_sql(expression)

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """Write the functions that builders of hierarchies call by DuckDB's names."""
        name, arguments = expression.name.upper(), expression.expressions
        if name == "STRFTIME" and arguments[1].name in PATTERNS:
            return self.func("DATE_FORMAT", arguments[0], exp.Literal.string(PATTERNS[arguments[1].name]))
        if name == "REGEXP_REPLACE":  # DuckDB replaces the first match, and writes \1 where Spark writes $1
            self.unsupported("REGEXP_REPLACE")
        if name == "ISFINITE":  # its dates are all finite
            return "TRUE"
        if name not in FUNCTIONS:
            self.unsupported(f"the function {name}")
        return super().anonymous_sql(expression)

    def order_sql(self, expression: exp.Order, flat: bool = False) -> str:
        """Shuffle rows: distribute them at random, then sort each part at random, so that no machine sorts all."""
        by = [item.this if isinstance(item, exp.Ordered) else item for item in expression.expressions]
        if len(by) == 1 and isinstance(by[0], exp.Rand):
            return f"{self.seg('DISTRIBUTE BY')} RAND(){self.seg('SORT BY')} RAND()"
        return super().order_sql(expression, flat)

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        """Write an ASOF join as the nearest row, column by column: the one with the largest value at or below."""
        if expression.method != "ASOF":
            return super().join_sql(expression, join_op)
        return self._asof(expression)

    def _asof(self, join: exp.Join) -> str:
        on, relation = join.args.get("on"), join.this
        if join.side != "LEFT" or not isinstance(on, exp.GTE) or not isinstance(on.expression, exp.Column):
            self.unsupported("this ASOF JOIN")
            return ""
        alias, key = relation.alias_or_name, on.expression
        query = join.find_ancestor(exp.Select)
        wanted = sorted({c.name for c in query.find_all(exp.Column) if c.table == alias}) if query else []
        plain = relation.copy()
        plain.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        nearest = [named(exp.Anonymous(this="MAX_BY", expressions=[column(n, alias), key.copy()]), n) for n in wanted]
        inner = exp.select(*nearest).from_(plain).where(exp.LTE(this=key.copy(), expression=on.this.copy()))
        return f" LEFT JOIN LATERAL ({self.sql(inner)}) AS {self.sql(exp.to_identifier(alias, quoted=True))} ON TRUE"


def render(statement: exp.Expr, *, pretty: bool = False) -> str:
    """Return the text of ``statement``: every identifier quoted, parameters as ``?``.

    Raises:
        UnsupportedError: Spark lacks something.
    """
    return generate(SparkWriter(dialect=Spark(), pretty=pretty, **SETTINGS), statement, "Spark")


def quoted(name: str) -> str:
    """Return ``name`` as a quoted identifier."""
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)


def type_word(name: str) -> str:
    """Return the word that policies use for a type of Spark (its ``simpleString``)."""
    if name.startswith("decimal("):
        return name.upper().replace(" ", "")
    if name.startswith(("char(", "varchar(")):
        return "VARCHAR"
    return NAMED_TYPES.get(name, name.upper())
