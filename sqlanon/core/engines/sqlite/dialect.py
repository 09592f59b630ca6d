"""How our statements read in SQLite, where sqlglot would leave them as they are in DuckDB's, or change their meaning.

Each rule keeps the meaning of the tree. What has no equal raises an ``UnsupportedError`` and is never passed through.
SQLite converts in silence where other databases refuse: a text that is no number is 0 to a CAST, an integer beyond 64
bits becomes a float, a name that is no column is a text. So conversions and products are checked where they happen,
and names are quoted by the one character that never turns them into texts.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite
from sqlglot.generators.sqlite import SQLiteGenerator

from sqlanon.core.engines.rendering import SETTINGS, OwnMethods, generate
from sqlanon.core.engines.sqlite.joins import pinned
from sqlanon.core.sqltrees.trees import column, equal, named
from sqlanon.errors import UnsupportedError

DIALECT = "sqlite"
LARGEST = 2**63 - 1
"""The largest whole number; what is larger would be read as a float."""
TEXT, CAST, TRY_CAST, REFUSE, LENGTH, KEY, MATCHES = (
    "sqlanon_text",
    "sqlanon_cast",
    "sqlanon_try_cast",
    "sqlanon_refuse",
    "sqlanon_length",
    "sqlanon_key",
    "regexp",
)
"""The functions that the session has of its own (``values.Functions``); SQLite calls the last one for REGEXP."""
OVERFLOW = "overflow"
"""The reason that ``sqlanon_refuse`` receives when a whole number does not fit."""

INTEGERS = (*exp.DataType.INTEGER_TYPES, exp.DType.INT128, exp.DType.UINT128)
FLOATS = (exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL)
ROUNDED = (exp.Ceil, exp.Floor, exp.Round)
"""The functions that turn a float into a whole number on purpose."""


class SQLiteWriter(OwnMethods, SQLiteGenerator, replaces=(exp.AnyValue, exp.TryCast, exp.Length, exp.GenerateSeries)):
    """SQLite's generator with our rules."""

    def identifier_sql(self, expression: exp.Identifier) -> str:
        """Quote by backticks: SQLite takes what stands in double quotes and is no name for a text."""
        return quoted(expression.name)

    def literal_sql(self, expression: exp.Literal) -> str:
        if not expression.is_string:
            if expression.is_int and int(expression.this) > LARGEST:
                self.unsupported("a whole number beyond 64 bits")
            return expression.name
        text = expression.name
        if "\0" in text:  # which would end the statement
            return f"CAST(X'{text.encode().hex()}' AS TEXT)"
        return "'" + text.replace("'", "''") + "'"

    # -- conversions ---------------------------------------------------------------------------------------------------

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """Check the value: what does not read as the type is refused, as in DuckDB, and does not become 0."""
        value, wanted = expression.this, expression.to
        kind = wanted.this
        if kind in exp.DataType.TEXT_TYPES:
            return f"CAST({self._text(value)} AS TEXT)"
        if kind in INTEGERS:
            return f"CAST({self._whole(value)} AS INTEGER)"
        if kind in FLOATS and isinstance(value, exp.Null):
            return "CAST(NULL AS REAL)"
        if kind in FLOATS and not _may_be_text(value):
            return f"CAST({self.sql(value)} AS REAL)"
        if kind in FLOATS and isinstance(value, exp.Column):
            text = self.sql(value)
            return f"CASE typeof({text}) WHEN 'text' THEN {self._called(CAST, value, wanted)} ELSE {text} + 0.0 END"
        return self._called(CAST, value, wanted)

    def collate_sql(self, expression: exp.Collate) -> str:
        """Compare byte by byte, which SQLite calls BINARY."""
        return f"{self.sql(expression, 'this')} COLLATE BINARY"

    def trycast_sql(self, expression: exp.TryCast) -> str:
        """Write a cast that returns NULL where the text does not read as the type."""
        if expression.to.this in exp.DataType.TEXT_TYPES:
            return f"CAST({self._text(expression.this)} AS TEXT)"
        return self._called(TRY_CAST, expression.this, expression.to)

    def _called(self, function: str, value: exp.Expr, wanted: exp.DataType) -> str:
        return f"{function}({self.sql(value)}, {self.sql(exp.Literal.string(wanted.sql(dialect='duckdb')))})"

    def _text(self, value: exp.Expr) -> str:
        """Write the canonical text: a text itself, the digits of a whole number, the shortest text of a float.

        Of a column only the floats are sent through a function, and nothing is added to it: 0 + 'a' is 0.
        """
        if isinstance(value, exp.Add) and isinstance(value.this, exp.Column) and value.expression.is_number:
            value = value.this  # -0.0 reads 0.0 in any case
        text = self.sql(value)
        if isinstance(value, exp.Literal | exp.Null) and not value.is_number:
            return text
        if not isinstance(value, exp.Column):
            return f"{TEXT}({text})"
        return (
            f"CASE typeof({text}) WHEN 'text' THEN {text} WHEN 'integer' THEN CAST({text} AS TEXT) "
            f"WHEN 'null' THEN NULL ELSE {TEXT}({text}) END"
        )

    def _whole(self, value: exp.Expr) -> str:
        """Write a whole number. A float is a sum or product that did not fit, unless it was rounded on purpose."""
        text = self.sql(value)
        if isinstance(value, (*ROUNDED, exp.Placeholder, exp.Null)) or _number(value) is not None:
            return text
        cast = self._called(CAST, value, exp.DataType.build("BIGINT"))
        if not isinstance(value, exp.Column | exp.Coalesce | exp.Sum | exp.Window | exp.Count | exp.Case):
            return cast
        return f"CASE typeof({text}) WHEN 'integer' THEN {text} ELSE {cast} END"

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    def mul_sql(self, expression: exp.Mul) -> str:
        """Refuse a product of whole numbers that does not fit 64 bits: SQLite would go on with a float."""
        return self._checked(expression, "*")

    def add_sql(self, expression: exp.Add) -> str:
        return self._checked(expression, "+") if _has_product(expression) else super().add_sql(expression)

    def sub_sql(self, expression: exp.Sub) -> str:
        return self._checked(expression, "-") if _has_product(expression) else super().sub_sql(expression)

    def _checked(self, expression: exp.Binary, sign: str) -> str:
        sides = [expression.this, expression.expression]
        left, right = (f"({self.sql(side)})" if isinstance(side, exp.Binary) else self.sql(side) for side in sides)
        result = f"{left} {sign} {right}"
        if any(_is_float(side) for side in sides):
            return f"({result})"
        whole = " AND ".join(
            f"typeof({text}) = 'integer'" for side, text in zip(sides, (left, right), strict=True) if not side.is_int
        )
        if not whole:
            return f"({result})"
        return f"(CASE WHEN typeof({result}) = 'real' AND {whole} THEN {REFUSE}('{OVERFLOW}') ELSE {result} END)"

    def _truncated_div_sql(self, left: exp.Expr, right: exp.Expr) -> str:
        """Divide whole numbers to whole numbers; through a float, digits beyond 53 bits would be lost."""
        sides = [f"({self.sql(side)})" if isinstance(side, exp.Binary) else self.sql(side) for side in (left, right)]
        return f"({sides[0]} / {sides[1]})"

    def intdiv_sql(self, expression: exp.IntDiv) -> str:
        return self._truncated_div_sql(expression.this, expression.expression)

    def _extreme(self, name: str, expression: exp.Greatest | exp.Least) -> str:
        """Leave NULLs out, as in DuckDB; of one value the function would be an aggregate."""
        if len(expression.expressions) > 1 and not all(map(_never_null, expression.iter_expressions())):
            self.unsupported(f"{expression.key.upper()} of more than two values that may be NULL")
        values = [self.sql(value) for value in (expression.this, *expression.expressions)]
        return f"COALESCE({name}({', '.join(values)}), {', '.join(values)})" if len(values) > 1 else values[0]

    def greatest_sql(self, expression: exp.Greatest) -> str:
        return self._extreme("MAX", expression)

    def least_sql(self, expression: exp.Least) -> str:
        return self._extreme("MIN", expression)

    # -- functions and clauses -----------------------------------------------------------------------------------------

    def anyvalue_sql(self, expression: exp.AnyValue) -> str:
        """Take the largest value, which depends on nothing else."""
        return self.func("MAX", expression.this)

    def length_sql(self, expression: exp.Length) -> str:
        """Count characters; SQLite's own function ends at the character NUL."""
        return self.func(LENGTH, expression.this)

    def left_sql(self, expression: exp.Left) -> str:
        """Write ``LEFT``, which SQLite lacks."""
        return self.func("SUBSTRING", expression.this, exp.Literal.number(1), expression.expression)

    def struct_sql(self, expression: exp.Struct) -> str:
        """Write values side by side as one text that no other values have."""
        return self.func(KEY, *[item.expression if isinstance(item, exp.PropertyEQ) else item
                                for item in expression.expressions])  # fmt: skip

    def generateseries_sql(self, expression: exp.GenerateSeries) -> str:
        """Count from one whole number to another, both included; SQLite's own series is an extension that few have."""
        start, end = (self.sql(expression, part) for part in ("start", "end"))
        return (
            f"(WITH RECURSIVE counted(place) AS (SELECT {start} WHERE {start} <= {end} "
            f"UNION ALL SELECT place + 1 FROM counted WHERE place < {end}) SELECT place FROM counted)"
        )

    def values_sql(self, expression: exp.Values, values_as_table: bool = True) -> str:
        """Name the columns of rows under an alias: SQLite calls them column1, column2 and so on."""
        alias = expression.args.get("alias")
        if alias is None or not alias.columns:
            return super().values_sql(expression, values_as_table)
        rows = ", ".join(self.sql(row) for row in expression.expressions)
        named = ", ".join(f"column{place} AS {self.sql(name)}" for place, name in enumerate(alias.columns, start=1))
        return f"(SELECT {named} FROM (VALUES {rows})) AS {self.sql(alias, 'this')}"

    def select_sql(self, expression: exp.Select) -> str:
        """Join in the order that is written: the planner would begin with every combination of rows of the lookups."""
        return super().select_sql(pinned(expression, nested=isinstance(expression.parent, exp.CTE | exp.Subquery)))

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        """Write ASOF as the row with the greatest value that is not above; the values of such a column differ."""
        if expression.method == "ASOF":
            expression = self._nearest(expression)
        return super().join_sql(expression)

    def _nearest(self, join: exp.Join) -> exp.Join:
        join = join.copy()
        on = join.args.get("on")
        if not isinstance(on, exp.GTE) or not isinstance(join.this, exp.Table):
            self.unsupported("an ASOF JOIN of this form")
            return join
        limit, other = on.this, on.expression
        alias = exp.to_identifier("sqlanon_nearest", quoted=True)
        near = join.this.copy()
        near.set("alias", exp.TableAlias(this=alias))
        value = exp.column(other.this.copy(), alias.copy())
        found = exp.select(exp.Max(this=value)).from_(near).where(exp.LTE(this=value.copy(), expression=limit.copy()))
        join.set("method", None)
        join.set("on", equal(other.copy(), found.subquery()))
        return join


class PortableSQLite(SQLiteWriter):
    """The writer for sessions without our functions: conversions and products are SQLite's own and are not checked."""

    def length_sql(self, expression: exp.Length) -> str:
        return self.func("LENGTH", expression.this)

    def struct_sql(self, expression: exp.Struct) -> str:
        values = [item.expression if isinstance(item, exp.PropertyEQ) else item for item in expression.expressions]
        return " || ',' || ".join(self.func("QUOTE", value) for value in values)

    def _called(self, function: str, value: exp.Expr, wanted: exp.DataType) -> str:
        kind = "INTEGER" if wanted.this in INTEGERS else "REAL" if wanted.this in FLOATS else "TEXT"
        return f"CAST({self.sql(value)} AS {kind})"

    def _text(self, value: exp.Expr) -> str:
        return self.sql(value)

    def _whole(self, value: exp.Expr) -> str:
        return self.sql(value)

    def _checked(self, expression: exp.Binary, sign: str) -> str:
        sides = [expression.this, expression.expression]
        left, right = (f"({self.sql(side)})" if isinstance(side, exp.Binary) else self.sql(side) for side in sides)
        return f"({left} {sign} {right})"


def _number(value: exp.Expr) -> str | None:
    """Return the digits of a literal number; None for anything else."""
    inner = value.this if isinstance(value, exp.Neg | exp.Paren) else value
    return inner.name if isinstance(inner, exp.Literal) and inner.is_number else None


def _is_float(value: exp.Expr) -> bool:
    """Return True if an operand is a float whatever the data: the result may be one."""
    value = value.unnest()
    if isinstance(value, exp.Literal):
        return value.is_number and not value.is_int
    if isinstance(value, exp.Binary):
        return isinstance(value, exp.Div) or _is_float(value.this) or _is_float(value.expression)
    return isinstance(value, exp.Ln) or (isinstance(value, exp.Cast) and value.to.this in FLOATS)


def _has_product(value: exp.Binary) -> bool:
    return any(isinstance(side.unnest(), exp.Mul) for side in (value.this, value.expression))


def _may_be_text(value: exp.Expr) -> bool:
    """Return False for what is a number by its form."""
    value = value.unnest()
    numeric = exp.AggFunc | exp.Binary | exp.Window | exp.Ln | exp.Neg | exp.Placeholder
    if isinstance(value, numeric) and not isinstance(value, exp.Max | exp.Min | exp.AnyValue | exp.DPipe):
        return False
    if isinstance(value, exp.Cast):
        return value.to.this not in (*INTEGERS, *FLOATS)
    return _number(value) is None


def _never_null(value: exp.Expr) -> bool:
    return isinstance(value, exp.Literal | exp.Case | exp.Coalesce)


def _number_copies(statement: exp.Expr) -> exp.Expr:
    """Write ``EXCEPT ALL`` as EXCEPT over rows whose copies are numbered: SQLite removes all copies at once."""
    if not any(node.args.get("distinct") is False for node in statement.find_all(exp.Except)):
        return statement
    statement = statement.copy()
    for node in list(statement.find_all(exp.Except)):
        sides = (node.this, node.expression)
        if node.args.get("distinct") is not False or not all(isinstance(side, exp.Select) for side in sides):
            continue
        kept = [exp.column(exp.to_identifier(item.alias_or_name, quoted=True)) for item in node.this.expressions]
        for side in sides:
            copies = exp.Window(this=exp.RowNumber(), partition_by=[item.unalias().copy() for item in side.expressions])
            side.select(exp.alias_(copies, "sqlanon_copy", quoted=True), copy=False)
        whole = node.copy()
        whole.set("distinct", True)
        node.replace(exp.select(*kept).from_(whole.subquery("numbered")))
    return statement


def render(statement: exp.Expr, *, pretty: bool = False, writer: type[SQLiteWriter] = SQLiteWriter) -> str:
    """Return the text of ``statement``, every identifier quoted.

    Raises:
        UnsupportedError: SQLite lacks something.
    """
    return generate(writer(dialect=SQLite(), pretty=pretty, **SETTINGS), _number_copies(statement), "SQLite")


def quoted(name: str) -> str:
    """Return ``name`` as a quoted identifier; raise UnsupportedError if it holds the character NUL."""
    if "\0" in name:
        raise UnsupportedError("A name holds the character NUL, which SQLite does not keep.", hint="rename it.")
    return "`" + name.replace("`", "``") + "`"


def compare_bytes(statement: exp.Expr, columns: Callable[[exp.Table], list[str] | None]) -> exp.Expr:
    """Replace each table of a source that a statement reads by its columns compared byte by byte, and return it.

    A column declared COLLATE NOCASE would merge texts that differ.

    Args:
        columns: the columns of a table that needs it; None of any other.
    """
    found = []
    for table in statement.find_all(exp.Table):
        if isinstance(table.parent, exp.From | exp.Join) and isinstance(table.this, exp.Identifier) and table.db:
            names = columns(table)
            if names:
                found.append((table, names))
    for table, names in found:
        plain = exp.Table(this=table.this.copy(), db=table.args["db"].copy())
        kept = [named(exp.Collate(this=column(name), expression=exp.var("BINARY")), name) for name in names]
        alias = table.args.get("alias") or exp.TableAlias(this=table.this.copy())
        inner = exp.select(*kept).from_(plain).subquery()
        inner.set("alias", alias.copy())
        table.replace(inner)
    return statement
