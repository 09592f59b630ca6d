"""``sqlanon versions``: what is installed here, for a report of a fault. Nothing is loaded to find out."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version

from sqlanon.version import VERSION

PACKAGES = {
    "duckdb": "", "sqlglot": "", "pyarrow": "", "numpy": "", "PyYAML": "", "click": "", "rich": "", "lxml": "",
    "jinja2": "", "adbc-driver-postgresql": "postgres", "pyspark": "spark", "highspy": "exact", "scikit-learn": "ml",
    "dbt-core": "dbt", "python-calamine": "excel", "pyreadstat": "stat",
}  # fmt: skip
"""Packages, and the extra that each of them comes with; empty: it is always there."""


def execute(as_json: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    print(json.dumps({name: found for name, found, _ in installed()}) if as_json else "\n".join(lines()))
    return 0


def installed() -> list[tuple[str, str | None, str]]:
    """Return the packages beneath sqlanon: a name, the version (None: not installed), and the extra that brings it."""
    import sqlite3

    found: list[tuple[str, str | None, str]] = [
        ("sqlanon", VERSION, ""),
        ("python", platform.python_version(), ""),
        ("platform", platform.platform(), ""),
    ]
    for name, extra in PACKAGES.items():
        try:
            found.append((name, version(name), extra))
        except PackageNotFoundError:
            found.append((name, None, extra))
    return [*found[:4], ("sqlite", sqlite3.sqlite_version, ""), *found[4:]]


def lines() -> list[str]:
    """Return the versions, for a person."""
    return [
        f"{name} {version}" if version is not None else f"{name}: not installed (sqlanon[{extra}])"
        for name, version, extra in installed()
    ]
