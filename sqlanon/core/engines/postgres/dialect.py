"""How our statements read in PostgreSQL 15 and newer, where sqlglot's dialect would leave them as they are in DuckDB's.

Each rule keeps the meaning of the tree. What has no equal raises an ``UnsupportedError`` and is never passed through.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.generators.postgres import PostgresGenerator

from sqlanon.core.engines.rendering import SETTINGS, UNSIGNED, OwnMethods, generate, same_texts
from sqlanon.core.sqltrees.trees import CASED, COMPUTED_FIRST, HEX_NUMBER, HMAC, NORMAL, SHIFTED, blanks, translated
from sqlanon.errors import UnsupportedError

DIALECT = "postgres"
LONGEST_NAME = 63
"""Bytes of an identifier; PostgreSQL would cut a longer one, so that two names can become one."""
ANY_VALUE = "sqlanon_any_value"
TRY_CAST = "sqlanon_try_cast"
RANK = '"sqlanon_rank"'
_MARK = "\0"
"""The sign of a parameter until all are numbered: the one character that no statement of PostgreSQL can hold."""

TYPES: dict[exp.DType, str] = {
    exp.DType.INT128: "DECIMAL(39, 0)",
    exp.DType.UINT128: "DECIMAL(39, 0)",
    **UNSIGNED,
}
"""The types that hold all values of integers that PostgreSQL lacks."""

WHOLE_DIGITS: dict[exp.DType, int] = {
    exp.DType.SMALLINT: 4,
    exp.DType.INT: 9,
    exp.DType.BIGINT: 18,
    exp.DType.INT128: 38,
}
"""The digits that every number of so many fits a type with."""
_DAY = "[1-9][0-9]{3}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
DAYS: dict[exp.DType, str] = {
    exp.DType.DATE: f"^{_DAY}$",
    exp.DType.TIMESTAMP: f"^{_DAY} ([01][0-9]|2[0-3])(:[0-5][0-9]){{2}}(\\.[0-9]{{1,6}})?$",
}
"""Patterns of days and moments that the calendar has."""
NO_NUMBER = "[][(),*<>=]"
"""The pattern of texts that hold a character which no number has: labels of intervals, masks, roots."""

NAMED_TYPES: dict[str, str] = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "text": "VARCHAR",
    "varchar": "VARCHAR",
    "bpchar": "VARCHAR",
    "name": "VARCHAR",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
}
"""The words that policies and compiler use for types of PostgreSQL; other types keep their own."""

PATTERNS: dict[str, str] = {"%Y-%m-%d": "YYYY-MM-DD", "%G-W%V": 'IYYY"-W"IW', "%Y-%m": "YYYY-MM", "%Y": "YYYY"}
"""The patterns of STRFTIME that hierarchies of dates use, in the words of TO_CHAR."""
REPLACED = (exp.AnyValue, exp.TryCast, exp.Ln, exp.Struct, exp.Substring)
"""The nodes that methods of ``PostgresWriter`` write."""


class PostgresWriter(OwnMethods, PostgresGenerator, replaces=REPLACED):
    """PostgreSQL's generator with our rules."""

    def placeholder_sql(self, expression: exp.Placeholder) -> str:
        return _MARK

    def cte_sql(self, expression: exp.CTE) -> str:
        """End a part that is computed first by OFFSET 0, which the planner joins nothing beneath.

        It may join a relation by the first word of a key before it has joined the lookup that the second comes from.
        """
        if expression.meta.get(COMPUTED_FIRST):
            expression = expression.copy()
            expression.set("this", expression.this.offset(0, copy=False))
        return super().cte_sql(expression)

    def datatype_sql(self, expression: exp.DataType) -> str:
        known = expression.this
        if known == exp.DType.VARCHAR and not expression.expressions:
            return "TEXT"  # one type for all texts of ours
        return TYPES[known] if known in TYPES else super().datatype_sql(expression)

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """Compare our texts (VARCHAR) byte by byte, whatever the collation of their column: one that is not
        deterministic takes different texts for one. TEXT is a text as its own column compares it."""
        text = super().cast_sql(expression, safe_prefix)
        wanted = expression.to
        return f'{text} COLLATE "C"' if wanted.this == exp.DType.VARCHAR and not wanted.expressions else text

    def add_sql(self, expression: exp.Add) -> str:
        """Keep a float to which 0 is added (for the canonical text of -0.0): with an INT a REAL becomes a DOUBLE."""
        if expression.expression == exp.Literal.number(0):
            return f"{self.sql(expression, 'this')} + CAST(0 AS REAL)"
        return super().add_sql(expression)

    def struct_sql(self, expression: exp.Struct) -> str:
        """Write a row: it is only compared, and needs no names."""
        return self.func("ROW", *[item.expression for item in expression.expressions])

    def anyvalue_sql(self, expression: exp.AnyValue) -> str:
        """Call an aggregate of the session's own for a value that is not NULL: PostgreSQL has one since 16 only."""
        return f"pg_temp.{ANY_VALUE}({self.sql(expression, 'this')})"

    def trycast_sql(self, expression: exp.TryCast) -> str:
        """Cast what certainly reads as the type; leave the rest to a function of the session's own, which gives NULL
        where the cast fails, and takes a subtransaction for each value."""
        wanted = self.sql(expression, "to")
        type_name = self.sql(exp.Literal.string(wanted))
        text = self.sql(exp.cast(expression.this, "VARCHAR"))
        kind = expression.to.this
        if kind in (exp.DType.VARCHAR, exp.DType.TEXT) and not expression.to.expressions:
            return text
        if kind == exp.DType.INT128 and isinstance(expression.this, exp.Floor):
            whole = self.sql(expression, "this")  # NaN is above all numbers
            return f"CASE WHEN ABS({whole}) < 1e38 THEN CAST({text} AS {wanted}) END"
        slowly = f"pg_temp.{TRY_CAST}({text}, {type_name}, CAST(NULL AS {wanted}))"
        readable = readable_texts(expression.to)
        if readable is None:
            return slowly
        never = f"WHEN {text} ~ {self.sql(exp.Literal.string(NO_NUMBER))} THEN NULL "
        certainly = f"WHEN {text} ~ {self.sql(exp.Literal.string(readable))} THEN CAST({text} AS {wanted}) "
        return f"CASE {certainly}{never if kind not in DAYS else ''}ELSE {slowly} END"

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """Write the functions that builders of hierarchies call by DuckDB's names."""
        name, arguments = expression.name.upper(), expression.expressions
        if name == "STRFTIME" and arguments[1].name in PATTERNS:
            return self.func("TO_CHAR", arguments[0], exp.Literal.string(PATTERNS[arguments[1].name]))
        if name in ("YEAR", "QUARTER"):
            return f"CAST(EXTRACT({name} FROM {self.sql(arguments[0])}) AS BIGINT)"
        if name == "ISFINITE" and arguments[0].unnest().is_type("double"):  # there is one of dates, and none of numbers
            endless = ", ".join(f"CAST('{word}' AS DOUBLE PRECISION)" for word in ("NaN", "Infinity", "-Infinity"))
            return f"({self.sql(arguments[0])} NOT IN ({endless}))"
        if name == HMAC:
            inner, outer, text = map(self.sql, arguments)
            hashed = f"SHA256(DECODE({inner}, 'hex') || CONVERT_TO({text}, 'UTF8'))"
            return f"ENCODE(SHA256(DECODE({outer}, 'hex') || {hashed}), 'hex')"
        if name in (NORMAL, CASED):
            plain = translated(self.sql(arguments[0]), blanks())
            composed = f"CASE WHEN GETDATABASEENCODING() = 'UTF8' THEN NORMALIZE({plain}, NFKC) ELSE {plain} END"
            shown = f'LOWER(({composed}) COLLATE "default")' if name == NORMAL else f"({composed})"
            return f'BTRIM({shown}) COLLATE "C"'
        if name == HEX_NUMBER:
            return f"CAST(CAST('x0' || SUBSTRING({self.sql(arguments[0])}, 1, 15) AS BIT(64)) AS BIGINT)"
        if name == SHIFTED:
            return f"({self.sql(arguments[0])} + MAKE_INTERVAL(days => CAST({self.sql(arguments[1])} AS INTEGER)))"
        if name == "STRFTIME":
            self.unsupported("STRFTIME with a pattern that is not known")
        return super().anonymous_sql(expression)

    def ln_sql(self, expression: exp.Ln) -> str:
        """Compute in DOUBLE: of a NUMERIC, such as a SUM over BIGINT, PostgreSQL computes it digit by digit."""
        return f"LN(CAST({self.sql(expression, 'this')} AS DOUBLE PRECISION))"

    def substring_sql(self, expression: exp.Substring) -> str:
        """Cast start and length: there is no SUBSTRING that starts at a BIGINT."""
        start, length = (exp.cast(p, "INT") if p else None for p in map(expression.args.get, ("start", "length")))
        return self.func("SUBSTRING", expression.this, start, length)

    def join_sql(self, expression: exp.Join, join_op: str | None = None) -> str:
        """Join by equalities of texts (``same_texts``). The server refuses them for other types than text."""
        if expression.method == "ASOF":
            return self._asof(expression)
        on = expression.args.get("on")
        if on is not None and on.find(exp.NullSafeEQ):
            expression = expression.copy()
            for node in list(expression.find_all(exp.NullSafeEQ)):
                node.replace(same_texts(node))
        return super().join_sql(expression, join_op)

    def _asof(self, join: exp.Join) -> str:
        """Write an ASOF join as one by the rank of the nearest row, the last whose key is at or below.

        WIDTH_BUCKET finds that rank by halving an array of the keys, which is sorted once a statement.
        """
        on, relation = join.args.get("on"), join.this
        if join.side != "LEFT" or not isinstance(on, exp.GTE) or not isinstance(on.expression, exp.Column):
            self.unsupported("an ASOF JOIN of this form")
            return ""
        plain = relation.copy()
        plain.set("alias", None)
        alias = self.sql(exp.to_identifier(relation.alias_or_name, quoted=True))
        key, rows, limit = self.sql(on.expression.this), self.sql(plain), self.sql(on.this)
        ranked = f"(SELECT *, ROW_NUMBER() OVER (ORDER BY {key}) AS {RANK} FROM {rows}) AS {alias}"
        found = f"WIDTH_BUCKET({limit}, ARRAY(SELECT {key} FROM {rows} ORDER BY {key}))"
        return f" LEFT JOIN {ranked} ON {alias}.{RANK} = {found}"


def readable_texts(wanted: exp.DataType) -> str | None:
    """Return a pattern of texts that are certain to read as a type, if there is one: not of all that do."""
    kind = wanted.this
    if kind in WHOLE_DIGITS:
        return f"^-?[0-9]{{1,{WHOLE_DIGITS[kind]}}}$"
    if kind == exp.DType.DECIMAL and wanted.expressions:
        sizes = [int(size.name) for size in wanted.expressions]
        before = sizes[0] - (sizes[1] if len(sizes) > 1 else 0) - 1  # rounding up may take one more
        return f"^-?[0-9]{{1,{before}}}(\\.[0-9]+)?$" if before > 0 else None
    if kind in (exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE):
        return "^-?[0-9]{1,30}(\\.[0-9]{1,30})?$"
    return DAYS.get(kind)


class PortablePostgres(PostgresWriter):
    """The writer for sessions without our aggregate: any value is the first of a list."""

    def anyvalue_sql(self, expression: exp.AnyValue) -> str:
        value = self.sql(expression, "this")
        return f"(ARRAY_AGG({value}) FILTER (WHERE NOT {value} IS NULL))[1]"


def render(statement: exp.Expr, *, pretty: bool = False, writer: type[PostgresWriter] = PostgresWriter) -> str:
    """Return the text of ``statement``: every identifier quoted, parameters numbered ``$1``… in the order of the text.

    Raises:
        UnsupportedError: PostgreSQL lacks something, or an identifier is too long.
    """
    check_names(node.name for node in statement.find_all(exp.Identifier))
    own = writer(dialect=Postgres(), pretty=pretty, **SETTINGS)
    pieces = generate(own, statement, "PostgreSQL").split(_MARK)
    if len(pieces) - 1 != sum(1 for _ in statement.find_all(exp.Placeholder)):
        raise UnsupportedError(
            "A text of the policy holds the character NUL, which PostgreSQL does not store.", hint="leave it out."
        )
    return pieces[0] + "".join(f"${number}{piece}" for number, piece in enumerate(pieces[1:], start=1))


def check_names(names: Iterable[str]) -> None:
    """Raise UnsupportedError if a name is longer than ``LONGEST_NAME`` bytes, or holds the character NUL."""
    for name in names:
        if len(name.encode()) > LONGEST_NAME or _MARK in name:
            raise UnsupportedError(
                f"The name {name!r} is longer than the {LONGEST_NAME} bytes that PostgreSQL keeps of a name.",
                hint="use a shorter name in the policy.",
            )


def quoted(name: str) -> str:
    """Return ``name`` as a quoted identifier."""
    check_names([name])
    return exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)


HELPERS = (
    # one value: the first that is not NULL, because a strict function is not called for NULL
    "CREATE FUNCTION pg_temp.sqlanon_first(kept anyelement, next anyelement) RETURNS anyelement "
    "LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS 'SELECT $1'",
    f"CREATE AGGREGATE pg_temp.{ANY_VALUE}(anyelement) (SFUNC = pg_temp.sqlanon_first, STYPE = anyelement)",
    f"CREATE FUNCTION pg_temp.{TRY_CAST}(value text, wanted text, INOUT result anyelement) LANGUAGE plpgsql STABLE "
    "AS $$ BEGIN EXECUTE format('SELECT CAST(%L AS %s)', value, wanted) INTO result; "
    "EXCEPTION WHEN data_exception THEN result := NULL; END $$",
)
"""The functions that the session creates for itself; they are dropped with it, as temporary tables are."""
