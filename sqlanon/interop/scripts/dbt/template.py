"""Statements as text of a dbt model: trees in which a relation is a call of ``ref`` or ``source``.

A file of a dbt project is a template, so a name or a text that reads like one is refused: it would be run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.core.engines.capabilities import DUCKDB, POSTGRES, TextFacts
from sqlanon.core.engines.duckdb import dialect as duckdb_dialect
from sqlanon.core.engines.postgres import dialect as postgres_dialect
from sqlanon.errors import InputError, UnsupportedError

SIGNS = ("{{", "{%", "{#")
"""The beginnings of parts of a template that are not text."""
CALLS: Mapping[str, tuple[int, ...]] = {"ref": (1, 2), "source": (2,)}
"""The functions that name a relation, with the numbers of names that they accept."""


@dataclass(frozen=True, slots=True)
class Call:
    """A relation of a dbt project: ``ref('model')``, ``ref('package', 'model')`` or ``source('source', 'table')``."""

    function: str
    names: tuple[str, ...]

    @classmethod
    def parsed(cls, text: str) -> Call:
        """Return the call that a person wrote; raise InputError if it is none."""
        try:
            call = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            call = None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.keywords:
            names = tuple(a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
            plain = all(name and not set(name) & set("'\"\\{}\n") for name in names)
            if plain and len(names) == len(call.args) and len(names) in CALLS.get(call.func.id, ()):
                return cls(call.func.id, names)
        raise InputError(
            "--source names no relation of a dbt project.",
            hint="write it as in a model, \"source('clinic', 'patients')\" or \"ref('patients')\".",
        )

    def __str__(self) -> str:
        names = ", ".join(f"'{name}'" for name in self.names)
        return f"{self.function}({names})"

    @property
    def relation(self) -> exp.Table:
        """The relation in a tree; written as it is by every dialect."""
        return exp.Table(this=exp.Var(this=f"{{{{ {self} }}}}"))


def ref(name: str) -> Call:
    """Return the call of a model or seed."""
    return Call("ref", (name,))


def refuse_signs(text: str) -> None:
    """Raise UnsupportedError for a text that dbt would take for a template."""
    if any(sign in text for sign in SIGNS):
        raise UnsupportedError(
            f"The name or text {text!r} of the policy holds the beginning of a template, which dbt would run.",
            hint="rename the column in a view of the source, or publish by `sqlanon run`.",
        )


def _in_duckdb(query: exp.Expr) -> str:
    return duckdb_dialect.render(query, pretty=True)


def _in_postgres(query: exp.Expr) -> str:
    text = postgres_dialect.render(query, pretty=True)
    if query.find(exp.TryCast):
        raise UnsupportedError(
            "The levels of a hierarchy need TRY_CAST, which a model of PostgreSQL lacks.",
            hint="list the values (--with-values), or write the hierarchy as a file.",
        )
    return text


DIALECTS: Mapping[str, Callable[[exp.Expr], str]] = {"duckdb": _in_duckdb, "postgres": _in_postgres}
"""The adapters of dbt whose SQL can be written."""
TEXTS: Mapping[str, TextFacts] = {"duckdb": DUCKDB, "postgres": POSTGRES}
"""The facts that texts in each adapter's database depend on."""


def written(query: exp.Expr, dialect: str) -> str:
    """Return the text of a statement in the SQL of an adapter (``DIALECTS``), every identifier quoted.

    Raises:
        UnsupportedError: a name or text reads like a template, or the dialect cannot write the statement.
    """
    for node in query.find_all(exp.Identifier, exp.Literal):
        refuse_signs(node.name)
    return DIALECTS[dialect](query)
