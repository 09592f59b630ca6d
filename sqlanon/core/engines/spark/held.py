"""The working tables of a Spark engine that stand beside the driver, in an embedded DuckDB: few rows each."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.journal import Journal
from sqlanon.core.engines.spark.dialect import quoted
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import cte, with_ctes

HELD = tuple(
    names.PREFIX + start
    for start in ("values", "listed", "branches", "lookup", "leaf", "masks", "overall_", "ancestors_")
)
"""How the names of the tables begin that stand beside the driver. They have a row a distinct value, or fewer."""

MOST_ROWS = 5_000_000
"""Most rows of a base that is held beside the driver too: some 100 MiB of codes and counts, 8 bytes each. A search runs
there, and statements of the encoding about the base (the costs of levels) then need no jobs."""


class HeldTables(DuckDBEngine):
    """An embedded DuckDB with the tables of ``HELD``.

    Args:
        journal: the journal of the engine that they belong to.
    """

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self.journal = journal
        self._here: set[str] = set()

    def owns(self, table: str) -> bool:
        """Return True for a table that stands here, not on the cluster."""
        return table.startswith(HELD)

    def holds(self, table: str) -> bool:
        """Return True for a table that stands here, perhaps on the cluster too."""
        return table in self._here

    def answers(self, statement: exp.Expr | str) -> bool:
        """Return True for a tree that reads tables that stand here and nothing else."""
        if isinstance(statement, str):
            return False
        within = {cte.alias for cte in statement.find_all(exp.CTE)}
        read = [node for node in statement.find_all(exp.Table) if node.name not in within or node.db]
        return bool(read) and all(not node.db and (self.owns(node.name) or self.holds(node.name)) for node in read)

    def parts_of(self, statement: exp.Expr) -> tuple[exp.Expr, dict[str, exp.Query]]:
        """Split a statement that joins the base with records into one that reads parts of the base, and these parts.

        Those of its CTEs that read tables that stand here alone, the base among them, are tables of their own: the
        classes that pass, say, are found here without a job, and the cluster joins them with the records.

        Returns:
            The statement, and these parts by the names of the tables that it reads in their place.
        """
        parts: dict[str, exp.Query] = {}
        if not self.holds(names.BASE):
            return statement, parts
        statement = statement.copy()
        for clause in list(statement.find_all(exp.With)):
            if clause.recursive or clause.root() is not statement:
                continue
            answered, based = self._answered(clause)
            query, others = clause.parent, [part for part in clause.expressions if part.alias not in based]
            assert query is not None
            clause.pop()
            wanted = {name for tree in (query, *others) for name in _read(tree)}
            for alias in [alias for alias in based if alias in wanted]:
                table = names.unused(f"{names.PREFIX}part_{alias}", parts)
                rows = exp.select("*").from_(exp.to_table(alias, quoted=True))
                parts[table] = with_ctes(rows, [part.copy() for part in answered])
                others.insert(0, cte(alias, exp.select("*").from_(exp.to_table(table, quoted=True))))
            query.set("with_", exp.With(expressions=others) if others else None)
        return statement, parts

    def _answered(self, clause: exp.With) -> tuple[list[exp.CTE], set[str]]:
        """Return the parts of a WITH that are answered here, and the names of those that rest on the base."""
        answered: list[exp.CTE] = []
        based: set[str] = set()
        for part in clause.expressions:
            own = part.this.args.get("with_")
            before = [other.copy() for other in (*answered, *(own.expressions if own is not None else []))]
            if self.answers(with_ctes(part.this.copy(), before) if before else part.this):
                answered.append(part)
                if _read(part) & {names.BASE, *based}:
                    based.add(part.alias)
        return answered, based

    def mentioned(self, text: str) -> list[str]:
        """Return the tables whose names occur in a text of Spark's SQL; one too many does no harm."""
        return [table for table in sorted(self._here) if quoted(table) in text]

    def rows(self, table: str) -> pa.Table:
        """Return the rows of a table."""
        return self.arrow("show", exp.select("*").from_(exp.to_table(table, quoted=True)))

    def load(self, name: str, table: str, data: pa.Table, *, replayed: bool = False, more: bool = False) -> None:
        self._here.add(table)
        super().load(name, table, data, replayed=replayed, more=more)

    def create(
        self, name: str, table: str, query: exp.Query | str, *, replayed: bool = True, portable: exp.Query | None = None
    ) -> int:
        self._here.add(table)
        return super().create(name, table, query, replayed=replayed, portable=portable)

    def drop(self, table: str) -> None:
        self._here.discard(table)
        super().drop(table)


def _read(tree: exp.Expr) -> set[str]:
    """Return the names of the relations that a tree reads, without those of a schema."""
    return {node.name for node in tree.find_all(exp.Table) if not node.db}
