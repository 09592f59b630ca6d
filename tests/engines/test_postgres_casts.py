"""Casts that may fail: what a pattern knows to succeed needs no function, and the answer is the server's."""

from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from postgres_server import Server
from sqlglot import exp

from sqlanon.core.hierarchies.builders import levels as levels_of
from sqlanon.core.hierarchies.specs import Intervals
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import column, table

module = pytest.importorskip("sqlanon.core.engines.postgres.engine", reason="the driver of PostgreSQL is not installed")


@pytest.fixture
def engine(postgres: Server) -> Iterator[Any]:
    with closing(module.PostgresEngine(postgres.uri())) as opened:
        yield opened


TRIED = {
    "SMALLINT": ["1", "-32768", "32768", "1.5", " 7 ", "+3", "9999", "99999"],
    "INTEGER": ["2147483647", "2147483648", "-1", "1e3", "999999999"],
    "BIGINT": ["9223372036854775807", "9223372036854775808", "0", "0x1F"],
    "DECIMAL": ["1.50", "NaN", "Infinity", "1e400", ".5", "5.", "1_000", "-0"],
    "DECIMAL(4,2)": ["99.99", "99.994", "99.995", "100", "9.999", "NaN", "-99.5"],
    "HUGEINT": ["9" * 38, "9" * 39, "9" * 40, "1.6", "NaN"],
    "DOUBLE": ["1.5", "1e-400", "nan", "-inf", "[0, 10)", "12**", "0." + "0" * 29 + "1"],
    "FLOAT": ["1e39", "1" * 31, "0.1", "*"],
    "DATE": ["2024-02-29", "2023-02-29", "2023-02-28", "2023-04-31", "0000-01-01", "infinity", "2024-01",
             "(2024-01-01)"],
    "TIMESTAMP": ["2024-01-31 23:59:59.999999", "2024-01-31 24:00:00", "2024-04-31 00:00:00", "2024-01-31", "x"],
    "VARCHAR": ["a", ""],
}  # fmt: skip
"""Texts that read as a type, and texts that do not: by the pattern of what certainly does, and beside it."""


@pytest.mark.parametrize("wanted", TRIED)
def test_a_cast_is_tried_as_the_server_casts(engine: Any, wanted: str) -> None:
    """The pattern saves a subtransaction for each value; it decides nothing that the server would not."""
    texts = [*TRIED[wanted], None]
    engine.load("load", "tried", pa.table({"x": pa.array(texts, pa.string())}))
    fast = engine.render(exp.TryCast(this=column("x"), to=data_type(wanted)))
    name = engine.render(data_type(wanted))
    slow = f"pg_temp.sqlanon_try_cast(x, '{name}', CAST(NULL AS {name}))"
    query = f"SELECT x, CAST({fast} AS TEXT), CAST({slow} AS TEXT) FROM pg_temp.tried"
    rows = engine.run("tried", query)
    assert [row[1] for row in rows] == [row[2] for row in rows], [row for row in rows if row[1] != row[2]]


def test_intervals_of_numbers_cost_no_subtransaction_for_a_value(engine: Any) -> None:
    """Twenty calls of a function with an exception block for each value took 585 s for 650,000 values."""
    for wanted in ("DECIMAL", "DECIMAL(12,2)", "DECIMAL(30,2)", "DOUBLE"):
        spec = Intervals(width=Decimal("2.5"), fanouts=(2,))
        engine.run("drop", "DROP FUNCTION pg_temp.sqlanon_try_cast(text, text, anyelement)")
        engine.run("make", "CREATE FUNCTION pg_temp.sqlanon_try_cast(value text, wanted text, INOUT result anyelement) "
                   "LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$")  # fmt: skip
        try:
            levels = levels_of(spec, exp.cast(column("x"), data_type(wanted)), wanted, longest=9)
            engine.load("load", "numbers", pa.table({"x": ["-1.25", "0", "7.49", "7.5", None]}))
            found = engine.run("levels", exp.select(*levels[:2]).from_(table("numbers")))
        finally:
            engine.drop("numbers")
            engine.run("drop", "DROP FUNCTION pg_temp.sqlanon_try_cast(text, text, anyelement)")
            engine.run("make", module.HELPERS[2])
        starts = [None if row[0] is None else float(row[0][1:].split(",")[0]) for row in found]
        assert starts == [-2.5, 0, 5, 7.5, None], wanted
