"""Visits of a clinic: entities with several records each, and a policy for them."""

import random
from typing import Any

import pyarrow as pa
from policies import document_of, intervals, sensitive


def visits() -> pa.Table:
    """600 persons with one to four records, who mostly stay in one place."""
    draw = random.Random(3)
    rows: list[tuple[Any, ...]] = []
    for person in range(600):
        home = draw.choice([None, "", *(f"8{i:02d}" for i in range(20))])
        for _ in range(draw.choice([1, 1, 2, 4])):
            region = home if draw.random() < 0.8 else f"8{draw.randrange(20):02d}"
            rows.append((person, draw.randrange(20, 60), region, draw.choice(["flu", "gout", "asthma", None])))
    names = ("person_id", "age", "zip", "illness")
    return pa.table({name: pa.array([row[i] for row in rows]) for i, name in enumerate(names)})


def document(**changes: Any) -> dict[str, Any]:
    columns = {"age": intervals(5, 2, 2), "zip": "redact", "illness": sensitive("t_closeness", t=0.4)}
    return document_of(
        columns, changes, k=4, source="postgresql://", table="visits", entity="person_id", suppression_limit=0.05
    )
