"""Columns that travel with a quasi-identifier are measured, blanked and audited alike on every engine."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from engine_kinds import planned
from policies import document_of, quasi

from sqlanon.core.engines.base import Engine
from sqlanon.core.plan.publishing import PublishablePlan
from sqlanon.errors import InputError

REGIONS = [f"r{i}" for i in range(4)]


def data() -> pa.Table:
    """120 records: a district of two regions each, as a number, and a state that is NULL in half of them."""
    place = [i % 4 for i in range(120)]
    return pa.table(
        {
            "region": [REGIONS[i] for i in place],
            "age": [str(i // 4 % 3) for i in range(120)],
            "district": pa.array([i // 2 for i in place], pa.int64()),
            "state": pa.array([None if i >= 2 else "s" for i in place], pa.string()),
        }
    )


def document(k: int) -> dict[str, Any]:
    tree = {name: [f"g{i // 2}", "*"] for i, name in enumerate(REGIONS)}
    columns = {
        "region": quasi({"levels": tree}),
        "age": "suppress",
        "district": {"role": "keep", "with": "region"},
        "state": {"role": "keep", "with": "region"},
    }
    return document_of(columns, k=k, table="t", quality={"measure": "loss"})


def rows_of(plan: PublishablePlan) -> Counter[tuple[Any, ...]]:
    query = plan._release_query()
    found = plan._session.engine.arrow("release", query).to_pydict()
    names = ("region", "district", "state")
    return Counter(zip(*(found[name] for name in names), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("k, expected", [
    (5, {(REGIONS[i], i // 2, "s" if i < 2 else None): 30 for i in range(4)}),
    (61, {("*", None, None): 120}),
])  # fmt: skip
def test_rows_are_those_of_the_definition(engine: Engine, k: int, expected: dict[tuple[Any, ...], int]) -> None:
    asked = document(k)
    if k > 60:  # one region is not large enough, two of them are
        asked["columns"]["region"]["min_level"] = 2
    with planned(engine, data(), asked) as plan:
        assert plan.travelling["district"].level == 1
        assert rows_of(plan) == expected


@pytest.mark.slow
def test_what_does_not_follow_is_refused(engine: Engine) -> None:
    other = data().set_column(2, "district", pa.array([i % 7 for i in range(120)], pa.int64()))
    with pytest.raises(InputError, match="does not follow from 'region': 4 of its values, with 120 records"):
        planned(engine, other, document(5)).close()
