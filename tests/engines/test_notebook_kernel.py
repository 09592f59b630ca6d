"""In a notebook without ipywidgets DuckDB has no progress bar, and refuses to be told so."""

from typing import Any

import duckdb
import pytest

from sqlanon.core.engines.duckdb.lanes import hide_progress


class Kernel:
    """A connection as it is in a notebook without ipywidgets."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET enable_progress_bar = false")

    def execute(self, statement: str) -> Any:
        if statement.startswith("SET"):
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
        return self.connection.execute(statement)


def test_the_setting_is_left_alone_where_there_is_no_bar() -> None:
    with pytest.raises(duckdb.InvalidInputException):
        Kernel().execute("SET enable_progress_bar = false")
    hide_progress(Kernel())  # type: ignore[arg-type]


def test_no_bar_is_drawn_elsewhere() -> None:
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = true")
    hide_progress(connection)
    assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]
