"""What engines share that run one statement at a time, because no other session sees their temporary tables."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.engines.base import Engine, Job, Row


class SerialEngine(Engine):
    """An engine with one connection, on which statements run one after the other."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: dict[str, str] = {}
        """The views of jobs, each with the table that it shows."""

    def run_many(self, name: str, jobs: Sequence[Job]) -> list[list[Row]]:
        return [self._run_job(name, job) for job in jobs]

    def _run_job(self, name: str, job: Job) -> list[Row]:
        for view, table in job.views.items():
            self._show_as(view, table)
        return self.run(name, job.text, job.parameters)

    def _show_as(self, view: str, table: str) -> None:
        """Let a temporary view show a working table."""
        if self._shown.get(view) != table:
            self.run("hide", f"DROP VIEW IF EXISTS {self._working_table(view)}")
            query = f"SELECT * FROM {self._working_table(table)}"
            self.run("show", f"CREATE TEMPORARY VIEW {self._quoted(view)} AS {query}")
            self._shown[view] = table

    def read_once(self, name: str, table: str, relation: exp.Expr) -> exp.Expr:
        self.create(name, table, self.render(exp.select("*").from_(relation.copy())))
        return exp.to_table(table, quoted=True)

    def drop(self, table: str) -> None:
        for view in [view for view, shown in self._shown.items() if shown == table]:
            self.run("hide", f"DROP VIEW IF EXISTS {self._working_table(view)}")
        self._forget_views(table)
        super().drop(table)

    def _forget_views(self, table: str) -> None:
        """Forget which views show a table that is about to go."""
        self._shown = {view: shown for view, shown in self._shown.items() if shown != table}

    def _forget_relations(self) -> None:
        self._shown.clear()
