"""The package over all nights of a simulated year (``every_night.py --package``), and what its releases show together.

Each table is written as a DuckDB file anew each night, and released by ``sqlanon.anonymize`` in cohorts. The releases
show whose record each row is (``tag``), for this check alone: it reads the published files with numpy, and shares
nothing with what decides or audits. A record has a kept cell (``note``), which changes in 0.2 % of them a night.
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from every_night import Table, World

import sqlanon

Numbers = npt.NDArray[np.int64]
CHANGES = 0.002


def write_world(folder: Path, table: Table) -> None:
    """Write the folders, the key and the hierarchies: a level reads ``level:group``, and the last one ``*``."""
    for name in ("private", "out"):
        (folder / name).mkdir(mode=0o700)
    os.close(os.open(folder / "secret.key", os.O_CREAT | os.O_WRONLY, 0o600))
    (folder / "secret.key").write_bytes(bytes(range(7, 57)))
    for place, groups in enumerate(table.groups):
        with (folder / f"q{place}.csv").open("w", newline="") as file:
            writer = csv.writer(file, delimiter=";")
            for value, own in enumerate(groups):
                upper = [f"{level}:{own[level]}" for level in range(1, len(own) - 1)]
                writer.writerow([f"0:{value}", *upper, "*"])


def policy(folder: Path, table: Table, k: int, cohorts: dict[str, int], limit: float) -> dict[str, Any]:
    """The policy of all nights."""
    quasi = {
        f"q{place}": {"role": "quasi_identifier", "hierarchy": {"file": str(folder / f"q{place}.csv")}}
        for place in range(len(table.groups))
    }
    return {
        "source": str(folder / "source.duckdb"),
        "table": "t",
        "columns": {"id": {"role": "drop"}, **quasi, "note": {"role": "keep"}, "tag": {"role": "keep"}},
        "accept": ["tag"],
        "privacy": [{"type": "k_anonymity", "k": k}],
        "suppression_limit": limit,
        "key": {"file": str(folder / "secret.key")},
        "ledger": {"file": str(folder / "private" / "ledger.duckdb"), "record": "id", "cohorts": cohorts},
        "output": {"file": str(folder / "out" / "released.parquet")},
        "if_exists": "replace",
    }


@dataclass
class States:
    """What all releases of a table show, by the numbers of records.

    Attributes:
        classes: a row a night: the number of the class that a record is shown in, 0 if it is not shown.
        true: a row a night: whether it is shown as the source has it.
        loss: a night: summed over the records of the source, 1 for who is not shown.
        seconds, processor: a night: how long the run took.
        numbers, levels: of the classes, by their cells.
    """

    world: World
    classes: list[Numbers] = field(default_factory=list)
    true: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    levels: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = self.world.table
        self.losses = [[table.losses(i, level) for level in range(h)] for i, h in enumerate(table.heights)]

    def read(self, file: Path, alive: npt.NDArray[np.bool_], note: Numbers) -> None:
        """Read a release."""
        table = self.world.table
        names = [f"q{place}" for place in range(len(table.groups))]
        rows = duckdb.read_parquet(str(file)).select(", ".join([*names, "note", "tag"])).fetchall()
        own = np.zeros(len(note), np.int64)
        true, lost = np.zeros(len(note), bool), np.zeros(len(note))
        for *texts, noted, tag in rows:
            key, record = tuple(texts), int(tag)
            assert not own[record], "a record is shown twice"
            own[record] = self.numbers.setdefault(key, len(self.numbers) + 1)
            true[record] = alive[record] and int(noted) == note[record]
            if key not in self.levels:
                self.levels[key] = [_level(text, len(table.groups[i][0])) for i, text in enumerate(texts)]
            lost[record] = np.mean(
                [self.losses[i][level][self.world.rows[record, i]] for i, level in enumerate(self.levels[key])]
            )
        self.classes.append(own)
        self.true.append(true)
        self.loss.append(float(np.where(own > 0, lost, 1)[alive].sum()))

    def figures(self, k: int) -> dict[str, Any]:
        """Return what is printed, and whether the promises are held (``holds``)."""
        world, shown = self.world, np.array(self.classes)
        nights = len(shown)
        cells, histories = np.unique(shown, axis=1, return_counts=True)
        ever = cells.any(axis=0)
        pairs = min(
            _smallest_cell(cells[one], cells[other], histories) for one in range(nights) for other in range(one)
        )
        counts = np.array([np.bincount(own, minlength=len(self.numbers) + 1)[1:] for own in shown])
        follow = np.abs(np.diff(counts, axis=0))
        apart = [np.abs(counts[one] - counts[:one]) for one in range(1, nights)]
        first = np.where((shown > 0).any(axis=0), (shown > 0).argmax(axis=0), 1 << 30)
        alive = np.array([(world.born <= day) & (world.dies > day) for day in range(nights)])
        figures = {
            "smallest_history": int(histories[ever].min()),
            "smallest_joint_cell_of_two": pairs,
            "smallest_difference_of_consecutive": int(follow[follow > 0].min()),
            "smallest_difference_of_any_two": int(min(a[a > 0].min() for a in apart if a.any())),
            **{f"within_{n}": round(_within(world, first, n), 4) for n in (7, 30) if n < nights},
            "true_days": round(float(np.array(self.true)[1:].sum() / alive[1:].sum()), 4),
            "untrue": round(float(1 - np.array(self.true)[1:].sum() / (shown[1:] > 0).sum()), 4),
            "loss": round(sum(self.loss[1:]) / alive[1:].sum(), 4),
            "not_shown_last": round(float(1 - (shown[-1][alive[-1]] > 0).mean()), 4),
        }
        came_back = any(((own == 0) & (later > 0) & (first < day)).any() for day, own, later in _pairwise(shown))
        figures["came_back"] = bool(came_back)
        least = min(figures[f"smallest_{name}"] for name in ("history", "joint_cell_of_two"))
        return figures | {
            "holds": bool(least >= k and figures["smallest_difference_of_consecutive"] >= k and not came_back)
        }


def _pairwise(shown: Numbers) -> list[tuple[int, Numbers, Numbers]]:
    """Each night but the first, with what it and the night before show."""
    return [(day, shown[day - 1], shown[day]) for day in range(1, len(shown))]


def _level(text: str, height: int) -> int:
    return height - 1 if text == "*" else int(text.split(":", maxsplit=1)[0])


def _smallest_cell(one: Numbers, other: Numbers, persons: Numbers) -> int:
    """The fewest persons who have the same classes in two states, of those who are in either."""
    both = one * (other.max() + 1) + other
    cells = np.unique(both[both > 0], return_inverse=True)[1]
    return int(np.bincount(cells, weights=persons[both > 0]).min())


def _within(world: World, first: Numbers, nights: int) -> float:
    """The share of the records that came which were shown in their first nights."""
    came = (world.born >= 1) & (world.born <= world.days + 1 - nights)
    return float((first - world.born < nights)[came].sum() / max(1, came.sum()))


def release_nights(
    folder: Path, table: Table, *, days: int, seed: int, k: int, cohorts: dict[str, int], limit: float
) -> States:
    """Release a table on all nights by the package, and return what is shown."""
    world = World.draw(table, days, seed)
    write_world(folder, table)
    asked, random = policy(folder, table, k, cohorts, limit), np.random.default_rng([seed, 3])
    note, states = np.zeros(len(world.born), np.int64), States(world)
    for day in range(days + 1):
        alive = (world.born <= day) & (world.dies > day)
        if day:
            note[alive & (random.random(len(note)) < CHANGES)] += 1
        _write_source(folder, world, alive, note)
        begun, processor = time.perf_counter(), time.process_time()
        with sqlanon.anonymize(None, asked):
            pass
        states.seconds.append(time.perf_counter() - begun)
        states.processor.append(time.process_time() - processor)
        states.read(folder / "out" / "released.parquet", alive, note)
        if day in (10, 30, 100, 200, 300):
            held, seconds = states.figures(k)["holds"], _around(states.processor, day + 1)
            print(f"{day} nights: holds {held}, {seconds} s of processor time a night", file=sys.stderr, flush=True)
    return states


def run_nights(folder: Path, table: Table, *, days: int, k: int, **options: Any) -> dict[str, Any]:
    """Release a table on all nights by the package, and return the figures; as ``release_nights``."""
    states = release_nights(folder, table, days=days, k=k, **options)
    nights = [night for night in (1, 2, 10, 100, 365) if night <= days + 1]
    return {
        "records": len(table.rows),
        "nights": days + 1,
        **states.figures(k),
        "seconds": {night: _around(states.seconds, night) for night in nights},
        "processor": {night: _around(states.processor, night) for night in nights},
        "ledger_bytes": (folder / "private" / "ledger.duckdb").stat().st_size,
    }


def _around(values: Sequence[float], night: int) -> float:
    """The median of a night and the four around it; of the first, itself."""
    return round(float(np.median(values[max(night - 3, 1) : night + 2])) if night > 1 else values[0], 2)


def _write_source(folder: Path, world: World, alive: npt.NDArray[np.bool_], note: Numbers) -> None:
    (file := folder / "source.duckdb").unlink(missing_ok=True)
    own = np.flatnonzero(alive)
    quasi = {f"q{i}": np.char.add("0:", column.astype(str)) for i, column in enumerate(world.rows[own].T)}
    data = {"id": own, **quasi, "note": note[own], "tag": own}
    with duckdb.connect(str(file)) as connection:
        connection.register("data", pa.table(data))
        connection.execute("CREATE TABLE t AS SELECT * FROM data")
