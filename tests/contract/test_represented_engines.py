"""Numbers and dates beside generalized texts are the same on every engine, in tables, views and files."""

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import by_duckdb, forget, planned, rows_of_table
from policies import document_of

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
    return document_of(
        columns, changes, k=1, table="t", suppression_limit=1, publish={name: {"as": WORDS} for name in columns}
    )


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


GROUPS: dict[str, list[float | None]] = {
    "NaN": [math.nan, 1, 2, 3, 4],
    "infinities": [math.inf, -math.inf, 1, 2, 3],
    "far": [1e308] * 5,
    "NULL": [None, 1, 2, 3, 4],
    "zeros": [0.0, -0.0, 0.0, -0.0, 0.0],
    "numbers": [1, 2, 3, 4, 5],
}


SENSITIVE = {
    "distinct_l_diversity": {"type": "distinct_l_diversity", "l": 2},
    "t_closeness": {"type": "t_closeness", "t": 0.9, "distance": "ordered"},
}


@pytest.mark.parametrize("asked", ["class_mean", *SENSITIVE])
@pytest.mark.slow
def test_a_mean_is_a_number_or_null_and_a_zero_is_one_value(engine: Engine, asked: str) -> None:
    """NaN and infinities would say of a class that somebody's number is none; 0 and -0.0 would pass for two values."""
    if engine.capabilities.writes_folders and asked != "class_mean":
        pytest.skip("Spark rounds no infinity, and refuses such a column")
    groups = {
        group: values for group, values in GROUPS.items() if group != "NaN" or engine.capabilities.name != "SQLite"
    }
    pairs = [(group, value) for group, values in groups.items() for value in values]
    data = pa.table({name: pa.array(cells) for name, cells in zip("gx", zip(*pairs, strict=True), strict=True)})
    columns: dict[str, Any] = {"g": {"role": "quasi_identifier", "hierarchy": {"suppress": {}}, "max_level": 0}}
    document = {"table": "t", "columns": columns, "privacy": [{"type": "k_anonymity", "k": 5}], "suppression_limit": 1}
    if asked == "class_mean":
        columns["x"] = columns["g"] | {"min_level": 1, "max_level": 1}
        document["publish"] = {"x": {"as": [asked]}}
    else:
        columns["x"] = {"role": "sensitive", "models": [SENSITIVE[asked]]}
    with planned(engine, data, document) as here:
        rows = here.publish(Output("table", "represented")).to_arrow().to_pylist()
    shown = {*groups} - ({"zeros", "far"} if asked == "distinct_l_diversity" else set())
    assert {row["g"] for row in rows} == shown and len(rows) == 5 * len(shown)
    if asked == "class_mean":
        means = {row["g"]: row["x_class_mean"] for row in rows}
        assert means == dict.fromkeys(groups) | {"zeros": 0.0, "numbers": 3.0}


SPELLINGS = [
    "1",
    "1.0",
    "01",
    "1.00",
    "+1",
    "1 ",
    " 1",
    "a",
    "A",
    "a ",
    "é",
    "é",
    "NaN",
    "nan",
    "-0",
    "0",
    "-0.0",
    "true",
    "t",
]


@pytest.mark.parametrize("type_name", ["int64", "float64", "string", "bool"])
@pytest.mark.slow
def test_no_spelling_of_a_leaf_doubles_a_record(engine: Engine, type_name: str) -> None:
    """A hierarchy lists a value in each way to write it, each below a text of its own: at most one meets a record."""
    cells: dict[str, list[Any]] = {
        "int64": [1, 0, None], "float64": [1.0, -0.0, 0.0, math.nan, None],
        "string": [*SPELLINGS, None], "bool": [True, None],
    }  # fmt: skip
    numbered = [(value, number) for number, value in enumerate(cells[type_name] * 3)]
    if engine.capabilities.name == "SQLite":
        numbered = [item for item in numbered if item[0] == item[0]]  # it has no NaN
    values, numbers = zip(*numbered, strict=True)
    data = pa.table({"q": pa.array(values, getattr(pa, type_name.replace("bool", "bool_"))()), "id": pa.array(numbers)})
    rows = {text: [f"of {place}"] for place, text in enumerate(SPELLINGS)}
    leaf = {"role": "quasi_identifier", "hierarchy": {"levels": rows}, "min_level": 1, "max_level": 1}
    document = document_of(
        {"q": leaf, "id": "keep"}, k=1, table="t", accept=["id"], uncovered="suppress", suppression_limit=1
    )
    with planned(engine, data, document) as here:
        found = here.publish(Output("table", "represented")).to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    if type_name == "string":
        assert {(row["q"], cells[type_name][row["id"] % len(cells[type_name])]) for row in found if row["q"]} == {
            (texts[0], text) for text, texts in rows.items()
        }
