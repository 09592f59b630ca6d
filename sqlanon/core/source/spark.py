"""Opening what Spark reads: a session of the user's, or Parquet files by a cluster. PySpark is imported when asked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sqlanon.core.policy.paths import FilePatterns, is_url
from sqlanon.errors import InputError, SourceError

if TYPE_CHECKING:
    from sqlanon.core.engines.spark.engine import SparkEngine

PARQUET_ENDINGS = (".parquet", ".pq")
HIDDEN = (".", "_")
"""What the names of files begin with that Spark passes over."""
CONVERT = "name one file, or a folder that holds Parquet files alone; other files are read one by one, by DuckDB."


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
        from sqlanon.core.engines.spark.engine import SparkEngine
        from sqlanon.core.engines.spark.facts import MASTER
    except ImportError:
        installed = False
    else:
        installed = True
    if not installed:
        raise InputError("PySpark is not installed.", hint="run: python -m pip install 'sqlanon[spark]'")
    session = source if is_session(source) else None
    asked = cluster or Cluster()
    return SparkEngine(session, master=asked.master or MASTER, settings=asked.settings)  # type: ignore[arg-type]


def spark_path(source: object) -> str:
    """Return the text by which Spark reads a path, whatever characters it has, or a pattern.

    Raises:
        SourceError: there are several patterns.
    """
    if isinstance(source, FilePatterns):
        if len(source.patterns) > 1:
            raise SourceError(
                "Spark reads one pattern.", hint="write one, such as files: visits/{2023,2024}/*.parquet."
            )
        return source.absolute()[0]
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", str(source))


def parquet_files(source: object) -> list[Path]:
    """Return the files on this machine that are read for a path: of a folder all but hidden ones; or for patterns.

    Nothing is known of the files of another file system, which a URL names.

    Raises:
        SourceError: there is no such file, or it is no Parquet file.
    """
    name = source.absolute()[0] if isinstance(source, FilePatterns) else str(source)
    if is_url(name):
        return []
    roots = list(source.found()) if isinstance(source, FilePatterns) else [Path(str(source))]
    files: list[Path] = []
    for root in roots:
        files += _files_below(root) if root.is_dir() else [root]
    read = [file for file in files if not file.name.startswith(HIDDEN) and not file.is_dir()]
    if not read or not all(file.is_file() for file in read):
        raise SourceError(
            f"There is no Parquet file at {name!r}.",
            hint="check the path: a Parquet file or a folder of them; patterns have the key files.",
        )
    others = [file for file in read if file.suffix.lower() not in PARQUET_ENDINGS]
    if others:
        raise SourceError(
            f"{len(others)} of the {len(read)} files that the source names are no Parquet files.", hint=CONVERT
        )
    return read


def _files_below(folder: Path) -> list[Path]:
    """Return the files of a folder of Parquet, at any depth, in order. The first other file ends the walk.

    Raises:
        SourceError: it holds another file, or a folder that cannot be listed.
    """
    found: list[Path] = []
    unread: list[OSError] = []
    for path, folders, names in os.walk(folder, onerror=unread.append):
        folders.sort()
        files = [Path(path, name) for name in names]
        if any(not file.name.startswith(HIDDEN) and file.suffix.lower() not in PARQUET_ENDINGS for file in files):
            raise SourceError(f"The folder {str(folder)!r} holds files that are no Parquet files.", hint=CONVERT)
        if unread:
            reason = unread[0].strerror or "the system refused"
            raise SourceError(f"The folder {str(folder)!r} cannot be listed: {reason}.", hint="check its permissions.")
        found += files
    return sorted(found)
