"""Invented records for tables of counts, and a brute force in plain Python over the same records."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pyarrow as pa
from engine_kinds import SOURCE

from sqlanon.core.engines.base import Engine
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees.trees import table
from sqlanon.counts.counting import Counted, count_cells
from sqlanon.counts.document import CountsPolicy

AGES = {"hierarchy": {"intervals": {"width": 10, "fanouts": [2]}}}
Record = Mapping[str, Any]
Cell = tuple[tuple[str, Any], ...]
"""For each dimension: ``total``, or the level; and the text of the category."""


def records(draw: random.Random, size: int = 60) -> list[dict[str, Any]]:
    """Records of persons with several rows, of whom some move to another region, and with NULLs."""
    sexes: dict[int, Any] = defaultdict(lambda: draw.choice(["f", "m", "x' OR 1=1 --", None]))
    found = []
    for _ in range(size):
        person = draw.randrange(max(2, size // 3))
        found.append(
            {
                "person": person,
                "sex": sexes[person],
                "age": draw.choice([None, *range(20, 60)]),
                "region": draw.choice(["a", "A", "b", ""]),
                "cost": draw.choice([0, 5, 120, draw.randrange(1000)]),
            }
        )
    return found


def contingency(values: list[list[int]]) -> list[dict[str, Any]]:
    """Records, one a person, of which a two-way table has these counts; costs are of no account."""
    cells = [(f"r{i}", f"c{j}") for i, row in enumerate(values) for j, count in enumerate(row) for _ in range(count)]
    return [{"person": n, "sex": s, "region": r, "age": None, "cost": 0} for n, (s, r) in enumerate(cells)]


def holds(key: Sequence[str | None], place: Sequence[str]) -> bool:
    """Whether a cell, None for a total, holds what is in these categories."""
    return all(wanted is None or wanted == own for wanted, own in zip(key, place, strict=True))


def range_of(
    key: Sequence[str | None], shown: Mapping[Any, Any], places: Sequence[Sequence[str]], *, whole: bool
) -> tuple[float, float]:
    """The least and the greatest value of a cell, by all that is shown (not None) of sums over some places."""
    import highspy

    found = []
    for sense in (highspy.ObjSense.kMinimize, highspy.ObjSense.kMaximize):
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        for number, place in enumerate(places):
            solver.addVar(0.0, 1000.0 if whole else solver.getInfinity())
            solver.changeColCost(number, float(holds(key, place)))
            if whole:
                solver.changeColIntegrality(number, highspy.HighsVarType.kInteger)
        for cell, value in shown.items():
            own = [n for n, place in enumerate(places) if holds(cell, place)]
            if value is not None and own:
                solver.addRow(value - 1e-6, value + 1e-6, len(own), own, [1.0] * len(own))
        solver.changeObjectiveSense(sense)
        solver.run()
        is_known = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        found.append(solver.getInfo().objective_function_value if is_known else float("inf"))
    return found[0], found[1]


def as_table(rows: Sequence[Record]) -> pa.Table:
    """The records as Arrow; ages and costs are whole numbers, persons too."""
    types = {"person": pa.int64(), "sex": pa.string(), "age": pa.int64(), "region": pa.string(), "cost": pa.int64()}
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})


def counted_by(engine: Engine, rows: Sequence[Record], document: Mapping[str, Any]) -> Counted:
    """The cells as an engine counts them."""
    engine.load("source", SOURCE, as_table(rows), replayed=False)
    relation = table(SOURCE)
    source = Source(engine, relation, dict(engine.catalog.columns(relation)), None, None)
    return count_cells(source, CountsPolicy.from_dict(document))


def age_text(age: int | None, level: int) -> str | None:
    """The category of an age: itself, ten years, twenty years."""
    if age is None or level == 0:
        return None if age is None else str(age)
    width = 10 * 2 ** (level - 1)
    low = age // width * width
    return f"[{low}, {low + width})"


def category(row: Record, name: str, level: int) -> str | None:
    """The category of a record."""
    if name == "age":
        return age_text(row["age"], level)
    value: str | None = row[name]
    return value


def brute_cells(rows: Sequence[Record], document: Mapping[str, Any]) -> dict[Cell, tuple[int, float, float, float]]:
    """Contributors, amount and the two largest contributions of every cell of every table that someone is in."""
    policy = CountsPolicy.from_dict(document)
    found = {}
    for shown in policy.tables:
        names = list(policy.dimensions)
        choices = [
            [*shown.dimensions[n], *([None] if n in shown.totalled else [])] if n in shown.dimensions else [None]
            for n in names
        ]
        taken = [r for r in rows if document.get("nulls") != "basic" or all(r[n] is not None for n in names)]
        for levels in product(*choices):
            groups: dict[Cell, list[tuple[Any, float]]] = defaultdict(list)
            for place, row in enumerate(taken):
                who = row["person"] if policy.unit == "entity" else place
                key = tuple(
                    ("total", None) if level is None else (str(level), category(row, name, level))
                    for name, level in zip(names, levels, strict=True)
                )
                groups[key].append((who, row["cost"]))
            for key, members in groups.items():
                amounts: dict[Any, float] = defaultdict(float)
                for who, cost in members:
                    amounts[who] += cost
                top = [*sorted(amounts.values(), reverse=True), 0.0, 0.0]
                found[key] = (len(amounts), sum(amounts.values()), top[0], top[1])
    return found


def cells_of(counted: Counted) -> dict[Cell, tuple[int, float, float, float]]:
    """The published cells that someone is in, as the brute force has them."""
    grid, found = counted.grid, {}
    for cell, key in enumerate(grid.all_keys):
        if counted.contributors[cell] and grid.is_published[cell]:
            name = tuple(
                ("total", None) if d.level[c] < 0 else (str(d.level[c]), d.texts[c])
                for d, c in zip(grid.dimensions, key, strict=True)
            )
            amounts = (0.0, 0.0, 0.0)
            if counted.amounts is not None and counted.largest is not None:
                amounts = (counted.amounts[cell], *counted.largest[cell])
            found[name] = (int(counted.contributors[cell]), *map(float, amounts))
    return found
