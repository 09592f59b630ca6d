"""Opening what Spark reads: a session of the user's, or Parquet files by a cluster. PySpark is imported when asked."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sqlanon.errors import InputError, SourceError

if TYPE_CHECKING:
    from sqlanon.engines.spark.engine import SparkEngine

PARQUET_ENDINGS = (".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where a cluster is (None: one on this machine), and settings by Spark's names."""

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def is_session(source: object) -> bool:
    """Return True for an open session of Spark."""
    kinds = type(source).__mro__
    return any(kind.__name__ == "SparkSession" and kind.__module__.startswith("pyspark.sql") for kind in kinds)


def start_engine(source: object, cluster: Cluster | None) -> SparkEngine:
    """Return an engine on the session ``source``, or on a cluster that is started.

    Raises:
        InputError: PySpark is not installed, or the cluster cannot be started.
    """
    try:
        from sqlanon.engines.spark.engine import SparkEngine
        from sqlanon.engines.spark.facts import MASTER
    except ImportError:
        installed = False
    else:
        installed = True
    if not installed:
        raise InputError("PySpark is not installed.", hint="run: python -m pip install 'sqlanon[spark]'")
    session = source if is_session(source) else None
    asked = cluster or Cluster()
    return SparkEngine(session, master=asked.master or MASTER, settings=asked.settings)  # type: ignore[arg-type]


def parquet_files(source: str) -> list[Path]:
    """Return the files on this machine that Spark reads for a path: of a folder all but hidden ones, of a pattern its
    matches.

    Nothing is known of the files of another file system, which a URL names.

    Raises:
        SourceError: there is no such file, or it is no Parquet file.
    """
    if "://" in source:
        return []
    roots = [Path(found) for found in glob.glob(source)] or [Path(source)]
    files: list[Path] = []
    for root in roots:
        files += sorted(root.rglob("*")) if root.is_dir() else [root]
    read = [file for file in files if not file.name.startswith((".", "_")) and not file.is_dir()]
    if not read or not all(file.is_file() for file in read):
        raise SourceError(
            f"There is no Parquet file at {Path(source).name!r}.",
            hint="check the key source: a Parquet file, a folder of them, or a pattern.",
        )
    others = [file for file in read if file.suffix.lower() not in PARQUET_ENDINGS]
    if others:
        raise SourceError(
            f"{len(others)} of the {len(read)} files that the source names are no Parquet files.",
            hint="convert them to Parquet; other files are read one by one, by DuckDB.",
        )
    return read
