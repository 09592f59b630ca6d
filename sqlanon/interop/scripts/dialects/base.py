"""What a dialect is: which nodes of our trees and which types it can write, and how, as data.

A node class that was not checked is refused, and so is an argument of a node: sqlglot writes what it does not know as
it is, and a warehouse would be the first to report it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from sqlanon.core.engines.rendering import UNSIGNED

Rewrite = Callable[[exp.Expr], exp.Expr]
"""A function from a node, whose children are in the dialect already, to the node that the dialect has for it."""


@dataclass(frozen=True, slots=True)
class Same:
    """sqlglot's text for the dialect means what the tree means."""


@dataclass(frozen=True, slots=True)
class Lacks:
    """The dialect cannot write it.

    Attributes:
        reason: what is lacking, as a clause.
        hint: what to do instead.
    """

    reason: str
    hint: str


SAME: Final = Same()
Rule = Same | Lacks | Rewrite
"""How a node is written."""
TypeName = str | Same | Lacks
"""How a type is written: by its name there, by the name that sqlglot gives it, or not at all."""

VERBATIM = "verbatim"
"""The mark of an identifier that a person wrote in quotes: it keeps its letters in every dialect."""

ASOF = Lacks("an ASOF JOIN, which the ordered distance of t-closeness needs", "use the distance equal or hierarchical.")
WIDE = Lacks(
    "integers beyond 64 bits as literals, which such intervals are computed with",
    "let the column be an INTEGER or BIGINT; its intervals, joined ones too, have a whole width and origin up to 2^32.",
)
DECIMAL_INTERVALS = Lacks(
    "the functions that intervals between decimal numbers are computed with",
    "let the column be an INTEGER or BIGINT and give intervals a whole width, or list the levels of each value.",
)
WEEKS = Lacks("a text of the week of a date", "leave out the level week.")
INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
"""The words of policies for integer types."""
TEXTS = frozenset({"VARCHAR", "DATE", "BOOLEAN", *INTEGERS})
"""Types whose texts most dialects write as DuckDB does."""
TYPES: Final[Mapping[exp.DType, str]] = {
    exp.DType.VARCHAR: "VARCHAR",
    exp.DType.TEXT: "VARCHAR",
    exp.DType.TINYINT: "TINYINT",
    exp.DType.SMALLINT: "SMALLINT",
    exp.DType.INT: "INT",
    exp.DType.BIGINT: "BIGINT",
    exp.DType.INT128: "DECIMAL(38, 0)",
    **UNSIGNED,
    exp.DType.DOUBLE: "DOUBLE",
    exp.DType.BOOLEAN: "BOOLEAN",
    exp.DType.DATE: "DATE",
}
"""The names of types in most dialects; the timestamp without a time zone has another in each."""


Step = tuple[str | None, exp.Expr]
"""One of several statements that take the place of one, with its title; None for that which returns or writes rows."""


def alone(statement: exp.Expr) -> Iterable[Step]:
    """Return the statement as the only one."""
    return [(None, statement)]


def always(node: exp.Expr) -> exp.Expr:
    """Return TRUE: no date is infinite."""
    return exp.true()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How the statements of a policy are written in one dialect.

    Attributes:
        name: what ``--dialect`` takes.
        title: the name of the product.
        writes: sqlglot's name of the dialect.
        rules: node class -> how it is written; all others of ``ARGUMENTS`` mean the same there.
        types: type -> its name; what is absent is refused.
        texts: types of source columns whose values, cast to text, read as they do in DuckDB, by which they meet their
            hierarchies.
        functions: name of another function -> how it is written.
        patterns: format of a date -> how its text is computed, for the hierarchies of dates.
        temporary: our tables are temporary; otherwise they are ordinary ones, dropped at the end of the script.
        properties: further properties of our tables in CREATE TABLE.
        release_properties: properties of the release in CREATE TABLE.
        longest_name: most bytes of a name; None: no limit that matters.
        longest_script: most bytes of a script; None: no limit that matters.
        refused_characters: what no column of a release may have in its name.
        preamble: statements that the script begins with, in the dialect.
        notes: what the reader of a script must know, a sentence each.
        wide_literals: it reads integers beyond 64 bits as they are written.
        asof: it has an ASOF JOIN.
        write: writes a tree, in place of ``rules`` and sqlglot's generator.
        shuffles_in_parts: an ORDER BY of all rows is not kept, or sorted by one worker, so that the rows of the release
            are shuffled part by part.
        steps: the statements that take the place of one.
        stops: when a script ends at a statement that fails, a clause.
        loads: how the files of ``sql/load`` reach the database, a sentence; None: it loads none.
        analyzes: the planner knows nothing of the values of a new table before ANALYZE.
    """

    name: str
    title: str
    writes: str
    rules: Mapping[type[exp.Expr], Rule] = field(default_factory=dict)
    types: Mapping[exp.DType, TypeName]
    texts: frozenset[str] = TEXTS
    functions: Mapping[str, Rule] = field(default_factory=lambda: {"ISFINITE": always})
    patterns: Mapping[str, Rule]
    temporary: bool = True
    properties: tuple[exp.Expr, ...] = ()
    release_properties: tuple[exp.Expr, ...] = ()
    longest_name: int | None = None
    longest_script: int | None = None
    refused_characters: str = ""
    preamble: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    wide_literals: bool = False
    asof: bool = False
    write: Callable[[exp.Expr], str] | None = None
    analyzes: bool = False
    shuffles_in_parts: bool = False
    steps: Callable[[exp.Expr], Iterable[Step]] = alone
    stops: str = "see that yours does"
    loads: str | None = None

    def rule(self, node: exp.Expr) -> Rule | None:
        """Return how a node is written; None if it was not checked."""
        if isinstance(node, exp.Anonymous):
            return self.functions.get(node.name.upper())
        if isinstance(node, exp.TimeToStr):
            return self.patterns.get(str(node.args["format"].name))
        return self.rules.get(type(node), SAME if type(node) in ARGUMENTS else None)


ARGUMENTS: Mapping[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(arguments.split())
    for kind, arguments in {
        exp.Abs: "this",
        exp.Add: "this expression",
        exp.Alias: "this alias",
        exp.Analyze: "tables",
        exp.And: "this expression",
        exp.Anonymous: "this expressions",
        exp.AnyValue: "this",
        exp.Avg: "this",
        exp.Between: "this low high",
        exp.BitwiseAnd: "this expression",
        exp.BitwiseLeftShift: "this expression",
        exp.BitwiseOr: "this expression",
        exp.Boolean: "this",
        exp.Case: "ifs default",
        exp.Cast: "this to",
        exp.Ceil: "this",
        exp.Coalesce: "this expressions",
        exp.Column: "this table",
        exp.ColumnDef: "this kind",
        exp.Concat: "expressions safe coalesce",
        exp.Count: "this big_int",
        exp.Create: "this kind expression properties exists",
        exp.CTE: "this alias materialized",
        exp.DataType: "this expressions nullable",
        exp.DataTypeParam: "this",
        exp.DenseRank: "",
        exp.Distinct: "expressions",
        exp.Div: "this expression typed safe",
        exp.DPipe: "this expression safe",
        exp.Drop: "this tables kind exists",
        exp.EQ: "this expression",
        exp.Floor: "this",
        exp.From: "this",
        exp.Greatest: "this expressions ignore_nulls",
        exp.Group: "expressions grouping_sets",
        exp.GroupingSets: "expressions",
        exp.GT: "this expression",
        exp.GTE: "this expression",
        exp.Having: "this",
        exp.Identifier: "this quoted",
        exp.If: "this true",
        exp.Index: "this table params",
        exp.IndexParameters: "columns",
        exp.In: "this expressions",
        exp.Insert: "this expression",
        exp.IntDiv: "this expression",
        exp.Is: "this expression",
        exp.Join: "this on using side kind",
        exp.Lead: "this offset default",
        exp.Least: "this expressions ignore_nulls",
        exp.Left: "this expression",
        exp.Literal: "this is_string",
        exp.Ln: "this",
        exp.Lower: "this",
        exp.LT: "this expression",
        exp.LTE: "this expression",
        exp.Max: "this",
        exp.Min: "this",
        exp.Mul: "this expression",
        exp.Neg: "this",
        exp.NEQ: "this expression",
        exp.Not: "this",
        exp.Null: "",
        exp.Nullif: "this expression",
        exp.NullSafeEQ: "this expression",
        exp.NullSafeNEQ: "this expression",
        exp.Or: "this expression",
        exp.Order: "expressions",
        exp.Ordered: "this desc nulls_first",
        exp.Pad: "this expression fill_pattern is_left",
        exp.Paren: "this",
        exp.Properties: "expressions",
        exp.Quarter: "this",
        exp.Rand: "",
        exp.RegexpReplace: "this expression replacement single_replace",
        exp.Replace: "this expression replacement",
        exp.Right: "this expression",
        exp.RowNumber: "",
        exp.Schema: "this expressions",
        exp.Select: "expressions from_ group joins where order with_ having distinct",
        exp.Star: "",
        exp.Sub: "this expression",
        exp.Subquery: "this alias",
        exp.Substring: "this start length",
        exp.Sum: "this",
        exp.Table: "this db catalog alias quoted",
        exp.TableAlias: "this columns",
        exp.TemporaryProperty: "",
        exp.TimeToStr: "this format",
        exp.TryCast: "this to safe",
        exp.Tuple: "expressions",
        exp.Union: "this expression with_",
        exp.Upper: "this",
        exp.Values: "expressions",
        exp.Where: "this",
        exp.Window: "this partition_by order over",
        exp.With: "expressions",
        exp.Year: "this",
    }.items()
}
"""The node classes of our statements, each with the arguments that were checked. Every dialect refuses others."""
