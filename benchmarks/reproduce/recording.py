"""How the results of a table are kept: a JSON file each, with what is needed to run it again.

{"table": …, "command": …, "date": …, "commit": …, "machine": …, "versions": …, "seeds": …, "rows": […]}
"""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlanon

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PACKAGES = ("duckdb", "sqlglot", "numpy", "pyarrow", "highspy")
"""Packages whose versions may change a result."""


def record(table: str, options: str, rows: Sequence[Mapping[str, Any]], *, seeds: Sequence[int] = ()) -> Path:
    """Write the results of a table, and return the file.

    Args:
        options: of the command, without the folder of data.
    """
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True)
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=no", "sqlanon"],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30 if hasattr(os, "sysconf") else 0.0
    document = {
        "table": table,
        "command": f"python benchmarks/reproduce/{table}.py --data DIR{f' {options}' if options else ''}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit.stdout.strip() + (" (changed)" if changed.stdout else ""),
        "machine": {"system": platform.system(), "cores": os.cpu_count(), "memory_gib": round(memory)},
        "versions": {
            "python": platform.python_version(),
            "sqlanon": sqlanon.__version__,
            **{name: importlib.metadata.version(name) for name in PACKAGES},
        },
        "seeds": list(seeds),
        "rows": list(rows),
    }
    file = RESULTS / f"{table}.json"
    file.write_text(json.dumps(document, indent=1) + "\n")
    return file


def recorded(table: str) -> dict[str, Any]:
    """Return the results of a table, as they were recorded."""
    found: dict[str, Any] = json.loads((RESULTS / f"{table}.json").read_text())
    return found
