"""Cursors of one database in memory, on which small statements run side by side."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import duckdb

from sqlanon.core.engines.base import Job, Row
from sqlanon.core.engines.duckdb.dialect import quoted

MOST_LANES = 8
"""Most cursors that judge nodes side by side."""


def hide_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Let a connection draw no progress bar: it would be printed to standard output.

    In a notebook without the package ipywidgets there is none, and DuckDB refuses the setting, whatever its value.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0]:
        connection.execute("SET enable_progress_bar = false")


@dataclass(slots=True)
class Lane:
    """A cursor, and the table that each of its views shows. One statement runs on it at a time."""

    cursor: duckdb.DuckDBPyConnection
    shown: dict[str, str] = field(default_factory=dict)

    def run(self, job: Job, parameters: Sequence[object]) -> list[Row]:
        """Let the views of a job show its tables, run it, and return its rows."""
        for view, table in job.views.items():
            if self.shown.get(view) != table:
                query = f"SELECT * FROM {quoted(table)}"
                self.cursor.execute(f"CREATE OR REPLACE TEMPORARY VIEW {quoted(view)} AS {query}")
                self.shown[view] = table
        return self.cursor.execute(job.text, parameters).fetchall()


class Lanes:
    """The lanes of a connection.

    Args:
        own: the database is our own, and each thread of it has a lane. A connection of the user's has one lane, its
            only cursor of ours, which alone sees our temporary tables.
        locked: no setting can be changed any more.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, own: bool, locked: bool = False) -> None:
        self._connection = connection
        self._locked = locked
        self._threads = 1
        self._pool: ThreadPoolExecutor | None = None
        self._lanes = [Lane(connection)]
        if own:
            self._threads = connection.execute("SELECT current_setting('threads')").fetchall()[0][0]
            self._lanes = [Lane(connection.cursor()) for _ in range(min(self._threads, MOST_LANES))]
            for lane in self._lanes:
                hide_progress(lane.cursor)

    def __len__(self) -> int:
        return len(self._lanes)

    def close(self) -> None:
        """Close the cursors."""
        if self._pool is not None:
            self._pool.shutdown()
        for lane in self._lanes:
            lane.cursor.close()

    def forget(self, table: str) -> None:
        """Forget which views show a table that is about to go."""
        for lane in self._lanes:
            lane.shown = {view: shown for view, shown in lane.shown.items() if shown != table}

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """Give each statement one thread, because ``run`` keeps all of them busy with statements.

        A small statement that is spread over threads costs half as much again as on one.
        """
        if len(self._lanes) == 1 or self._locked:
            yield
            return
        self._connection.execute("SET threads = 1")
        try:
            yield
        finally:
            self._connection.execute(f"SET threads = {self._threads}")

    def run(self, jobs: Sequence[Job], run_job: Callable[[Lane, Job], list[Row]]) -> list[list[Row]]:
        """Run jobs, as many at once as there are lanes, and return their rows in order.

        On an error no further job begins, the others are interrupted, and all have ended when it is raised.
        """
        if len(jobs) == 1 or len(self._lanes) == 1:
            return [run_job(self._lanes[0], job) for job in jobs]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self._lanes), thread_name_prefix="sqlanon")
        results: list[list[Row]] = [[] for _ in jobs]
        waiting = iter(range(len(jobs)))
        guard = threading.Lock()

        def work(lane: Lane) -> None:
            while True:
                with guard:
                    number = next(waiting, None)
                if number is None:
                    return
                results[number] = run_job(lane, jobs[number])

        running = [self._pool.submit(work, lane) for lane in self._lanes[: len(jobs)]]
        try:
            for future in running:
                future.result()
        except BaseException:
            with guard:
                waiting = iter(())
            for lane, future in zip(self._lanes, running, strict=False):
                if not future.done():
                    lane.cursor.interrupt()
            while not all(future.done() for future in running):  # a second Ctrl-C does not leave one behind
                with suppress(KeyboardInterrupt):
                    wait(running)
            raise
        return results
