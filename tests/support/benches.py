"""Workbenches of the studio for tests: a table of invented visitors, and what waits for a bench."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sqlanon.studio.workbench import Workbench

HOSTILE = "<img src=x onerror=alert(1)>"
RARE = "kanarienvogel"
"""A value that one person alone has."""


def visitors(records: int = 3_000, seed: int = 5) -> pa.Table:
    """Return persons with an age, a sex, a district, a disease, a name, and a column whose name is markup."""
    draw = np.random.default_rng(seed)
    districts = [f"D{i:02}" for i in draw.geometric(0.2, records)]
    diseases = draw.choice(["flu", "asthma", "diabetes", "hiv"], records, p=[0.5, 0.3, 0.15, 0.05])
    colours = draw.choice(["red", "blue", HOSTILE], records)
    colours[0] = districts[0] = RARE
    return pa.table(
        {
            "name": [f"person {i} {RARE}" for i in range(records)],
            "age": np.clip(draw.normal(45, 18, records), 0, 95).astype(int),
            "sex": draw.choice(["f", "m"], records),
            "district": districts,
            "disease": diseases,
            HOSTILE: colours,
        }
    )


def visitors_file(folder: Path, **options: Any) -> Path:
    """Write the persons to a CSV file."""
    path = folder / "visitors.csv"
    pa.csv.write_csv(visitors(**options), path)
    return path


def bench_of(source: object, folder: Path, **options: Any) -> Workbench:
    """Return a workbench whose first outcome is there."""
    bench = Workbench(source, folder=folder, **options)
    bench.start()
    settled(bench)
    return bench


def settled(bench: Workbench, seconds: float = 60) -> dict[str, Any]:
    """Return the state of a workbench when it has nothing to do any more."""
    until = time.monotonic() + seconds
    while bench.state(0)["busy"]:
        assert time.monotonic() < until, "the studio is busy for ever"
        time.sleep(0.01)
    return bench.state(0)


def after(bench: Workbench, action: str, **change: Any) -> dict[str, Any]:
    """Return the state of a workbench after a change."""
    bench.change({"action": action, **change})
    return settled(bench)
