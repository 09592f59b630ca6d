"""Tables of rows that a script lists: as INSERTs, or as CSV files that the dialect's own statement loads.

The texts in a file begin with a sign, because some loaders read an empty text as NULL. The file is loaded into a table
of texts, and a query takes the signs away.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Self

from sqlglot import Dialect as SqlglotDialect
from sqlglot import exp

from sqlanon.core.sqltrees.files import read
from sqlanon.core.sqltrees.trees import column, equal, named, number, table
from sqlanon.errors import InputError
from sqlanon.interop.scripts.dialects.base import Dialect
from sqlanon.interop.scripts.dialects.rendering import rewritten

ROWS = 500
"""Most rows of one INSERT. With a folder for lookups, a table of more rows becomes a file."""
LISTED = 10_000
"""Most rows of one table that a script lists, where the dialect loads files."""
SUFFIX = "_file"
"""The ending of the table of texts that a file is loaded into."""
NULL, TEXT = "-", "="
"""The sign that stands for NULL, and the sign before each other text."""
REFUSED = "'\"\\`$\n\r"
"""What the path of a folder may not hold, because it stands in quotes that differ between dialects."""


@dataclass(frozen=True, slots=True)
class ListedRows:
    """A table of rows that stand in the policy or in its hierarchies.

    Attributes:
        relation: the table.
        columns: the names of the columns, with their types.
        rows: the rows, of literals.
        more: they are added to a table that is there.
    """

    relation: exp.Expr
    columns: Sequence[tuple[str, exp.DataType]]
    rows: Sequence[exp.Tuple]
    more: bool = False

    @classmethod
    def of(cls, tree: exp.Expr) -> Self | None:
        """Return what ``tree`` lists, or None if it neither creates a table of listed rows nor adds such to one."""
        if not isinstance(tree, exp.Create | exp.Insert) or not isinstance(tree.expression, exp.Select):
            return None
        query = tree.expression
        source = query.args.get("from_")
        if source is not None and not isinstance(source.this, exp.Values):
            return None
        columns = [(item.alias, item.this.args["to"]) for item in query.expressions]
        rows = source.this.expressions if source is not None else []
        return cls(tree.this, columns, rows, isinstance(tree, exp.Insert))

    def inserts(self) -> Iterator[exp.Expr]:
        """Yield INSERTs; before them an empty table with declared types, unless it is there."""
        if not self.more:
            yield _empty(self.relation, self.columns)
        for start in range(0, len(self.rows), ROWS):
            yield exp.Insert(
                this=self.relation.copy(), expression=exp.Values(expressions=self.rows[start : start + ROWS])
            )

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"{self.relation.name}.csv"

    @property
    def loaded(self) -> exp.Expr:
        """The table of texts that the file is loaded into."""
        return table(self.relation.name + SUFFIX)

    def texts(self) -> exp.Expr:
        """Return the statement that creates the table of texts."""
        return _empty(self.loaded, [(name, exp.DataType.build("VARCHAR")) for name, _ in self.columns])

    def unsigned(self) -> exp.Expr:
        """Return the statement that creates the table from that of texts."""
        values = [
            named(exp.cast(exp.Case(ifs=[exp.If(this=_is_text(name), true=_text(name))]), kind.copy()), name)
            for name, kind in self.columns
        ]
        return exp.Create(this=self.relation.copy(), kind="TABLE", expression=exp.select(*values).from_(self.loaded))

    def file(self) -> str:
        """Return the text of the file."""
        written = io.StringIO()
        writer = csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([name for name, _ in self.columns])
        writer.writerows([_signed(value) for value in row.expressions] for row in self.rows)
        return written.getvalue()

    def loading(self, dialect: Dialect, folder: str) -> list[str]:
        """Return the texts of the statements that load the file into the table of texts."""
        columns = [_written(exp.to_identifier(name, quoted=True), dialect) for name, _ in self.columns]
        statements = Template(read(f"load/{dialect.name}.sql")).substitute(
            table=_written(self.loaded, dialect),
            view=_written(table(self.loaded.name + "_rows"), dialect),
            name=self.loaded.name,
            columns=", ".join(columns),
            schema=", ".join(f"{item} STRING" for item in columns),
            path=f"{folder.rstrip('/')}/{self.name}",
            absolute=(Path(folder).absolute() / self.name).as_posix(),
            file=self.name,
        )
        return statements.strip().split("\n\n")


def check_folder(folder: str | None, dialect: Dialect) -> None:
    """Raise InputError if files cannot be loaded from a folder by the statements of the dialect."""
    if folder is None:
        return
    if not dialect.loads:
        raise InputError(
            f"{dialect.title} loads no files by itself.",
            hint="leave --lookups out: the script lists the rows, however many.",
        )
    if not folder or set(str(Path(folder).absolute())) & set(REFUSED):
        raise InputError(
            f"The folder {folder!r} cannot be named in a script.",
            hint="choose one without quotes, backslashes, dollar signs and line ends in its path.",
        )


def as_file(listed: ListedRows, dialect: Dialect, folder: str | None) -> bool:
    """Return True if the rows become a file.

    Raises:
        InputError: they are too many for a script, and there is no folder.
    """
    if folder is not None and not listed.more:
        return len(listed.rows) > ROWS
    if dialect.loads and len(listed.rows) > LISTED:
        raise InputError(
            f"The hierarchies, or a subset, have {len(listed.rows)} rows, and a script lists {LISTED} at most.",
            hint="add --lookups FOLDER: they become CSV files there, which the script loads.",
        )
    return False


def _empty(relation: exp.Expr, columns: Sequence[tuple[str, exp.DataType]]) -> exp.Expr:
    declared = [exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=kind.copy()) for name, kind in columns]
    return exp.Create(this=exp.Schema(this=relation.copy(), expressions=declared), kind="TABLE")


def _written(name: exp.Expr, dialect: Dialect) -> str:
    generator = SqlglotDialect.get_or_raise(dialect.writes).generator(identify=True)
    return str(generator.generate(rewritten(name, dialect)))


def _is_text(name: str) -> exp.Expr:
    return exp.Not(this=equal(column(name), exp.Literal.string(NULL)))


def _text(name: str) -> exp.Expr:
    return exp.Substring(this=column(name), start=number(2))


def _signed(value: exp.Expr) -> str:
    if isinstance(value, exp.Null):
        return NULL
    return TEXT + (value.name if isinstance(value, exp.Literal) else value.sql(dialect="duckdb"))
