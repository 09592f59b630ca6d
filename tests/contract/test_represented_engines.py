"""Numbers and dates beside generalized texts are the same on every engine, in tables, views and files."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import by_duckdb, forget, planned, rows_of_table

from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Output

WORDS = ["low", "high", "midpoint"]


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """Every engine in turn, without a release."""
    forget(engine, "represented")
    return engine


def records() -> pa.Table:
    """Records with numbers and dates of several types, NULLs and open ends."""
    ages = [None if i % 11 == 0 else i * 7 % 60 - 10 for i in range(120)]
    days = [datetime.date(2023, 1, 31) + datetime.timedelta(i * 13 % 700) for i in range(120)]
    return pa.table(
        {
            "age": pa.array(ages, pa.int64()),
            'a "day" é': pa.array(days, pa.date32()),
            "pay": pa.array([i % 9 / 4 for i in range(120)], pa.float64()),
            "zip": pa.array([str(i % 5) if i % 7 else "90+" for i in range(120)], pa.string()),
        }
    )


def document(levels: dict[str, int], **changes: Any) -> dict[str, Any]:
    hierarchies: dict[str, Any] = {
        "age": {"intervals": {"width": 10, "fanouts": [2], "lower": 0, "upper": 40}},
        'a "day" é': {"dates": ["month", "quarter", "year"]},
        "pay": {"intervals": {"width": "0.5", "fanouts": [2]}},
        "zip": {"levels": {text: ["other" if text == "90+" else "0-4", "*"] for text in (*"01234", "90+")}},
    }
    columns = {
        name: {"role": "quasi_identifier", "hierarchy": hierarchy, "min_level": levels[name], "max_level": levels[name]}
        for name, hierarchy in hierarchies.items()
    }
    return {
        "table": "t",
        "columns": columns,
        "privacy": [{"type": "k_anonymity", "k": 1}],
        "suppression_limit": 1,
        "publish": {name: {"as": WORDS} for name in columns},
        **changes,
    }


LEVELS = [
    {"age": 1, 'a "day" é': 2, "pay": 1, "zip": 1},
    {"age": 0, 'a "day" é': 0, "pay": 0, "zip": 0},
    {"age": 2, 'a "day" é': 1, "pay": 3, "zip": 2},
]


def alike(value: Any) -> Any:
    """A value as other engines write it: SQLite has no dates, and all have numbers."""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat()
    if isinstance(value, datetime.date):
        return value.isoformat()
    return float(value) if isinstance(value, int | float | Decimal) else value


def rows_of(data: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a release, in order."""
    return sorted((tuple(map(alike, row)) for row in rows_of_table(data).elements()), key=repr)


def of_duckdb(asked: dict[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The columns and rows of DuckDB's release."""

    def released(other: Engine) -> tuple[list[str], list[tuple[Any, ...]]]:
        with planned(other, records(), asked) as there:
            return list(there.released), rows_of(there.publish(None).to_arrow())

    found: tuple[list[str], list[tuple[Any, ...]]] = by_duckdb(released, records(), asked)
    return found


@pytest.mark.parametrize("number", range(len(LEVELS)))
@pytest.mark.slow
def test_rows_are_those_of_duckdb(engine: Engine, number: int) -> None:
    asked = document(LEVELS[number])
    with planned(engine, records(), asked) as here:
        found = rows_of(here.publish(Output("table", "represented")).to_arrow())
        assert (list(here.released), found) == of_duckdb(asked)


@pytest.mark.slow
def test_a_number_instead_of_a_text_is_that_of_duckdb(engine: Engine, tmp_path: Path) -> None:
    asked = document(LEVELS[0], publish={name: {"as": "low"} for name in LEVELS[0]})
    with planned(engine, records(), asked) as here:
        _, expected = of_duckdb(asked)
        if not engine.capabilities.writes_folders:
            assert rows_of(here.publish(Output.file(tmp_path / "r.parquet")).to_arrow()) == expected
        assert rows_of(here.publish(Output("table", "represented")).to_arrow()) == expected


@pytest.mark.slow
def test_means_of_classes_are_those_of_duckdb(engine: Engine) -> None:
    publish = {"age": {"as": ["class_mean"]}, "pay": {"as": ["class_mean", "low"]}}
    asked = document(
        dict.fromkeys(LEVELS[0], 1) | {'a "day" é': 4, "pay": 2},
        privacy=[{"type": "k_anonymity", "k": 5}],
        publish=publish,
    )
    with planned(engine, records(), asked) as here:
        _, expected = of_duckdb(asked)
        assert rows_of(here.publish(Output("table", "represented")).to_arrow()) == expected
        assert len({row[1] for row in expected}) > 3
