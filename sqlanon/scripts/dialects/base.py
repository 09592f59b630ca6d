"""What a dialect is: which nodes of our trees and which types it can say, and how, as data.

A node class that the table of a dialect does not name is refused, and so is an argument of a node that nobody looked
at: sqlglot writes what it does not know as it is, and a warehouse would be the first to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

Rewrite = Callable[[exp.Expr], exp.Expr]
"""From a node whose children are in the dialect already to how the dialect says it."""


@dataclass(frozen=True, slots=True)
class Same:
    """sqlglot's text for the dialect means what the tree means."""


@dataclass(frozen=True, slots=True)
class Lacks:
    """The dialect cannot say it.

    Attributes:
        reason: what is lacking, as a clause.
        hint: what to do instead.
    """

    reason: str
    hint: str


SAME: Final = Same()
Said = Same | Lacks | Rewrite
"""How a node is said."""
TypeName = str | Same | Lacks
"""How a type is said: its name there, the name that sqlglot gives it, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How the statements of a policy are said in one dialect.

    Attributes:
        name: what ``--dialect`` takes.
        title: the name of the product.
        writes: sqlglot's name of the dialect.
        nodes: node class -> how it is said; what is absent is refused.
        types: type -> its name; what is absent is refused.
        texts: types of source columns whose values, cast to text, read as they do in DuckDB, by which they meet their
            hierarchies.
        functions: name of another function -> how it is said.
        patterns: format of a date -> how its text is made, for the hierarchies of dates.
        temporary: our tables are temporary; otherwise they are ordinary ones, dropped at the end of the script.
        properties: what CREATE TABLE says of our tables besides.
        release_properties: what CREATE TABLE says of the release.
        longest_name: most bytes of a name; None: no limit that matters.
        refused_characters: what no column of a release may hold in its name.
        preamble: statements that the script begins with, in the dialect.
        notes: what the reader of a script must know, a sentence each.
        wide_literals: it reads integers beyond 64 bits as they are written.
        asof: it has an ASOF JOIN.
        write: writes a tree, in place of sqlglot's generator.
    """

    name: str
    title: str
    writes: str
    nodes: Mapping[type[exp.Expr], Said]
    types: Mapping[exp.DType, TypeName]
    texts: frozenset[str]
    functions: Mapping[str, Said]
    patterns: Mapping[str, Said]
    temporary: bool = True
    properties: tuple[exp.Expr, ...] = ()
    release_properties: tuple[exp.Expr, ...] = ()
    longest_name: int | None = None
    refused_characters: str = ""
    preamble: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    wide_literals: bool = False
    asof: bool = False
    write: Callable[[exp.Expr], str] | None = None


ARGUMENTS: Mapping[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(arguments.split())
    for kind, arguments in {
        exp.Abs: "this",
        exp.Add: "this expression",
        exp.Alias: "this alias",
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
        exp.Create: "this kind expression properties",
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
        exp.Group: "expressions",
        exp.GT: "this expression",
        exp.GTE: "this expression",
        exp.Having: "this",
        exp.Identifier: "this quoted",
        exp.If: "this true",
        exp.Insert: "this expression",
        exp.IntDiv: "this expression",
        exp.Is: "this expression",
        exp.Join: "this on using side kind",
        exp.Lead: "this offset default",
        exp.Least: "this expressions ignore_nulls",
        exp.Left: "this expression",
        exp.Literal: "this is_string",
        exp.Ln: "this",
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
        exp.Values: "expressions",
        exp.Where: "this",
        exp.Window: "this partition_by order over",
        exp.With: "expressions",
        exp.Year: "this",
    }.items()
}
"""The node classes of our statements, each with the arguments that were looked at; no dialect knows others."""

PORTABLE: Mapping[type[exp.Expr], Said] = dict.fromkeys(
    (
        exp.Abs, exp.Add, exp.Alias, exp.And, exp.Avg, exp.Between, exp.Boolean, exp.Case, exp.Cast, exp.Ceil,
        exp.Coalesce, exp.Column, exp.ColumnDef, exp.Count, exp.Create, exp.DataType, exp.DataTypeParam,
        exp.DenseRank, exp.Distinct, exp.Drop, exp.EQ, exp.Floor, exp.From, exp.Group, exp.GT, exp.GTE, exp.Having,
        exp.Identifier, exp.If, exp.Insert, exp.Is, exp.Join, exp.Lead, exp.Literal, exp.LT, exp.LTE, exp.Max, exp.Min,
        exp.Mul, exp.Neg, exp.NEQ, exp.Not, exp.Null, exp.Nullif, exp.Or, exp.Order, exp.Ordered, exp.Paren,
        exp.Properties, exp.RowNumber, exp.Schema, exp.Select, exp.Star, exp.Sub, exp.Subquery, exp.Sum, exp.Table,
        exp.TableAlias, exp.TemporaryProperty, exp.Tuple, exp.Union, exp.Values, exp.Where, exp.Window, exp.With,
    ),
    SAME,
)  # fmt: skip
"""What every dialect says alike, or sqlglot translates without a change of meaning."""
VARIED: tuple[type[exp.Expr], ...] = (
    exp.AnyValue, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseOr, exp.Concat, exp.CTE, exp.Div, exp.DPipe,
    exp.Greatest, exp.IntDiv, exp.Least, exp.Left, exp.Ln, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Pad, exp.Quarter,
    exp.Rand, exp.RegexpReplace, exp.Replace, exp.Right, exp.Substring, exp.TimeToStr, exp.TryCast,
    exp.Year,
)  # fmt: skip
"""What each dialect tells of its own: every one of them names each of these."""

ASOF = Lacks(
    "an ASOF JOIN, which the ordered distance of t-closeness is made of", "use the distance equal or hierarchical."
)
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
TEXTS = frozenset({"VARCHAR", "DATE", "BOOLEAN", *INTEGERS})
"""Types whose texts every dialect writes alike, but for what it says itself."""
