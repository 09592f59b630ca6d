"""A population beside the source on every engine: optima, ledgers, warnings and releases of DuckDB, of records and of
persons, where its columns have other types than those of the source."""

import datetime
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_kinds import KINDS, Kind, duckdb, planned, rows_of_table

from sqlanon.core.engines.base import Engine
from sqlanon.core.policy import Output


@pytest.fixture(params=[kind for kind in KINDS if kind.cases != 1], ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Every kind of engine in turn, but the cluster, whose statements take long."""
    return request.param


def people(draw: random.Random, size: int, first_age: int) -> dict[str, list[Any]]:
    day = datetime.date(1950, 1, 1)
    return {
        "person": [draw.randrange(size // 2) for _ in range(size)],
        "age": [draw.choice([None, *range(first_age, 60)]) for _ in range(size)],
        "born": [day + datetime.timedelta(draw.randrange(4000)) for _ in range(size)],
        "zip": [draw.choice([None, "", *(f"8{i:02d}" for i in range(first_age))]) for _ in range(size)],
    }


def case(folder: Path, entity: bool, nulls: str) -> tuple[pa.Table, dict[str, Any]]:
    """Records, and a policy with a population in a file: ages are DOUBLE there, some of them no whole numbers."""
    draw = random.Random(7)
    sample, population = people(draw, 120, 20), people(draw, 900, 12)
    population["age"] = [None if v is None else v + draw.choice([0.0, 0.0, 0.0, 0.5]) for v in population["age"]]
    data = pa.table({**sample, "age": pa.array(sample["age"], pa.int64()), "row": list(range(120))})
    pq.write_table(pa.table(population), folder / "people.parquet")
    document = {
        "table": "t",
        "columns": {
            "age": {"role": "quasi_identifier", "hierarchy": {"intervals": {"width": 5, "fanouts": [4]}}},
            "born": {"role": "quasi_identifier", "hierarchy": {"dates": {"levels": ["month", "year"]}}},
            "zip": {"role": "quasi_identifier", "hierarchy": {"redact": {}}},
            "row": {"role": "keep"},
            "person": {"role": "drop"},
        },
        "accept": ["row"],
        "nulls": nulls,
        "privacy": [{"type": "k_map", "k": 20, "population": {"file": str(folder / "people.parquet")}}],
        "suppression_limit": 0.2,
    }
    return data, document | ({"entity": "person"} if entity else {})


@pytest.mark.slow
@pytest.mark.parametrize("nulls", ["extended", "basic"])
@pytest.mark.parametrize("entity", [False, True])
def test_a_population_counts_as_in_duckdb(engine: Engine, entity: bool, nulls: str, tmp_path: Path) -> None:
    data, document = case(tmp_path, entity, nulls)
    found = []
    with duckdb() as other:
        for place, used in enumerate((other, engine)):
            plan = planned(used, data, document)
            target = tmp_path / f"{place}.parquet"
            plan.publish(Output("file", str(target)))
            rows: Counter[tuple[Any, ...]] = rows_of_table(pq.read_table(target))
            found.append((plan.node, plan.certificate, plan.ledger, plan.warnings, plan.catalog.attributes, rows))
    assert found[0] == found[1]
    assert found[0][2].suppressed > 0 and any("do not hold (20.5" in note for note in found[0][3])
