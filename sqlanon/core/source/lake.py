"""Tables of a lakehouse, and Parquet files in object stores, read once at the version that stands when they are opened.

A Delta or Iceberg table is a folder of Parquet files with a log of which of them hold the records of a version. Other
files there may hold records that were deleted, so such a folder is never read as mere Parquet files. The log is read by
the package of the format (``deltalake``, ``pyiceberg``), or by DuckDB's extension where that is installed. What was
read stays: a later version of the table does not touch the plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import GLOB
from sqlanon.core.policy.paths import is_url
from sqlanon.core.source.files import PARQUET_ENDINGS
from sqlanon.core.source.frames import lacking_features, load_frame
from sqlanon.core.source.lake_folders import DELETED, DELTA_LOG, HUDI, METADATA, METADATA_ENDING, WHOLE, holds_metadata
from sqlanon.core.source.partition_columns import TEXT, type_of_partitions
from sqlanon.errors import EngineError, InputError, SourceChangedError, SourceError, UnsupportedError

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

T = TypeVar("T")

STORES = ("s3://", "gs://", "gcs://", "abfss://")
"""How URLs of object stores begin that Arrow reaches."""
DELTA, ICEBERG = "Delta table", "Iceberg table"
FUNCTIONS = {DELTA: ("delta", "delta_scan"), ICEBERG: ("iceberg", "iceberg_scan")}
"""DuckDB's extension for a format, with its table function."""
PACKAGES = {DELTA: "delta", ICEBERG: "iceberg"}
"""The extra of sqlanon that installs the package of a format."""
STORE_VARIABLES = {"s3.endpoint": "AWS_ENDPOINT_URL", "s3.region": "AWS_REGION"}
"""What the package of Iceberg does not take from the environment by itself, as Arrow and the package of Delta do."""
HINT = "version-hint.text"
FEATURE = re.compile(r"Feature '(\w+)' is not supported")
"""What the package of Delta says of a table that it cannot read, among other things."""
ARROW_TYPES = {"BIGINT": pa.int64(), "DATE": pa.date32(), TEXT: pa.string()}
"""The types of columns that folders make, to Arrow."""
HIDDEN = (".", "_")
"""What the names of files begin with that hold no records."""


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """A folder or file, on this machine or in an object store, with its name as the user wrote it."""

    system: FileSystem
    path: str
    written: str

    @property
    def name(self) -> str:
        """The name without what it is in."""
        return self.path.rstrip("/").rpartition("/")[2]

    def below(self) -> list[FileInfo]:
        """Return all files at or below the place, in order."""
        from pyarrow import fs

        [info] = self.system.get_file_info([self.path])
        if info.type == fs.FileType.NotFound:
            return []
        if info.is_file:
            return [info]
        found = self.system.get_file_info(fs.FileSelector(self.path, recursive=True))
        return sorted((item for item in found if item.is_file), key=lambda item: str(item.path))

    def listed(self, folder: str) -> list[str]:
        """Return the names in a folder of the place; none if there is no such folder."""
        from pyarrow import fs

        selector = fs.FileSelector(f"{self.path.rstrip('/')}/{folder}", allow_not_found=True)
        return sorted(str(item.base_name) for item in self.system.get_file_info(selector))

    def text(self, file: str) -> str:
        """Return the text of a small file."""
        with self.system.open_input_stream(f"{self.path.rstrip('/')}/{file}") as stream:
            return bytes(stream.read()).decode("utf-8")


def is_lake_url(url: str) -> bool:
    """Return True for the URL of a folder in an object store that Arrow reaches, or of metadata of Iceberg there."""
    name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    return url.lower().startswith(STORES) and ("." not in name or name.endswith(METADATA_ENDING))


def refuse_unread_objects(url: str) -> None:
    """Raise InputError if the URL of an object store may hold a secret, or names what is not read from there."""
    parts = urlsplit(url)
    if parts.query or "@" in parts.netloc:
        raise InputError(
            "The URL of the source holds a query or a user, and so perhaps a secret, which would be in policies and "
            "scripts.",
            hint="let DuckDB keep the secret (CREATE PERSISTENT SECRET), or pass a relation of your own connection.",
        )
    if not is_lake_url(url) and not parts.path.lower().endswith(PARQUET_ENDINGS):
        raise UnsupportedError(
            "Of an object store, Parquet files are read, folders of them, and Delta and Iceberg tables.",
            hint="name one, or a pattern (s3://bucket/visits/*.parquet); pass anything else as a relation of DuckDB.",
        )


def refuse_objects_of_lakes(engine: DuckDBEngine, url: str) -> None:
    """Raise SourceError if an object that DuckDB reads by a URL or pattern lies in the folder of a table.

    It is listed as far as the store allows it.
    """
    files = {str(name) for [name] in _objects(engine, url)}
    folders = {folder for file in files for folder in _folders_above(file)}
    wanted = (f"{DELTA_LOG}/*", f"{HUDI}/*", f"{METADATA}/*{METADATA_ENDING}")
    for folder in sorted(folders):
        literal = "".join(f"[{sign}]" if sign in GLOB else sign for sign in folder)
        if any(_objects(engine, f"{literal}/{pattern}") for pattern in wanted):
            name = folder.rpartition("/")[2]
            raise SourceError(
                f"Objects that the URL names lie in {name!r}, a Delta, Iceberg or Hudi table. {DELETED}", hint=WHOLE
            )


def _objects(engine: DuckDBEngine, pattern: str) -> list[tuple[Any, ...]]:
    listed = exp.Table(this=exp.Anonymous(this="glob", expressions=[exp.Literal.string(pattern)]))
    try:
        return [tuple(row) for row in engine.run("list objects", exp.select("file").from_(listed))]
    except EngineError:  # the store lists nothing, or not for us
        return []


def _folders_above(file: str) -> list[str]:
    """Return the folders above a file, those of its store or of this machine; not the root."""
    start, _, path = file.rpartition("://")
    parts = path.split("/")
    before = f"{start}://" if start else ""
    return [before + "/".join(parts[:depth]) for depth in range(1, len(parts)) if parts[depth - 1]]


def load_lake(engine: DuckDBEngine, source: Path | str, into: str) -> tuple[dict[str, str], str | None]:
    """Bring the records of a table of a lakehouse, or of Parquet files of an object store, into the table ``into``.

    Returns:
        The types of its columns, and the version that was read; None of mere files, and of a Delta table that DuckDB
        reads.

    Raises:
        SourceError: there is nothing, it cannot be read, or its version cannot be determined.
        InputError: neither the package nor the extension is installed.
        SourceChangedError: files of an object store changed while they were read.
    """
    place = _guarded(str(source), lambda: stored_place(source))
    kind, metadata = _guarded(place.name, lambda: _kind_of(place))
    if kind is None:
        _refuse_part_of_table(place)
        return _load_files(engine, place, into), None
    where = metadata if metadata is not None else place.written
    if kind == DELTA and "%" in place.written and not is_url(place.written):
        raise SourceError(
            f"The path of the Delta table {place.name!r} has a percent sign, which its package decodes: it would read "
            "another folder.",
            hint="rename the folder, or make a link of another name.",
        )
    try:
        opened = _open_delta(where) if kind == DELTA else _open_iceberg(where)
    except ImportError:
        opened = None
    except Exception as error:  # of the package, and its message may hold paths and more
        found = FEATURE.findall(str(error)) if kind == DELTA else []
        reason = type(error).__name__
        name = f"{kind} {place.name!r}"
        raise (lacking_features(name, reason, found) if found else _unreadable(kind, place.name, reason)) from None
    if opened is None:
        return _load_by_extension(engine, kind, where, into), None
    if kind == ICEBERG:
        _refuse_moved(opened, place)
    return load_frame(engine, opened, into), version_of(opened)


def version_of(table: Any) -> str:
    """Return the version of an open Delta table or the snapshot of an Iceberg table, such as ``version 3``."""
    if type(table).__module__.startswith("deltalake"):
        return f"version {table.version()}"
    snapshot = table.current_snapshot() if hasattr(table, "current_snapshot") else table.snapshot()
    return "no snapshot" if snapshot is None else f"snapshot {snapshot.snapshot_id}"


def stored_place(source: Path | str) -> StoredPlace:
    """Return the place of a path or URL."""
    from pyarrow import fs

    if isinstance(source, Path):
        return StoredPlace(fs.LocalFileSystem(), source.as_posix(), str(source))
    system, path = fs.FileSystem.from_uri(source)
    return StoredPlace(system, path, source)


def _kind_of(place: StoredPlace) -> tuple[str | None, str | None]:
    """Return the kind of a table, None for mere files; and of an Iceberg table the file of its metadata.

    Raises:
        SourceError: several files of metadata may be the current one.
    """
    if place.written.endswith(METADATA_ENDING):
        return ICEBERG, place.written
    if place.listed(DELTA_LOG):
        return DELTA, None
    names = place.listed(METADATA)
    found = [name for name in names if name.endswith(METADATA_ENDING)]
    if not found:
        return None, None
    last = max(map(_number, found))
    if HINT in names:
        hint = place.text(f"{METADATA}/{HINT}").strip()
        wanted = (hint, f"{hint}{METADATA_ENDING}", f"v{hint}{METADATA_ENDING}")
        found = [name for name in found if name in wanted]
    else:
        found = [name for name in found if _number(name) == last]
    if len(found) != 1 or _number(found[0]) < last:  # the hint may be late, and deleted records would come back
        raise SourceError(
            f"The Iceberg table {place.name!r} does not say which of its files of metadata is the current one.",
            hint=f"name it, as the catalog of the table does: source: …/{METADATA}/00003-….metadata.json.",
        )
    return ICEBERG, f"{place.written.rstrip('/')}/{METADATA}/{found[0]}"


def _refuse_part_of_table(place: StoredPlace) -> None:
    """Raise SourceError if a folder of a store lies in that of a table, as far as the folders above can be listed."""
    parts = place.path.strip("/").split("/")
    for depth in range(1, len(parts)):
        above = StoredPlace(place.system, "/".join(parts[:depth]), place.written)
        try:
            found = above.listed(DELTA_LOG) or above.listed(HUDI) or holds_metadata(above.listed(METADATA))
        except Exception:  # of Arrow: who may read a folder need not have the right to list the one above
            found = False
        if found:
            raise SourceError(
                f"The folder {place.name!r} lies in that of a Delta, Iceberg or Hudi table. {DELETED}", hint=WHOLE
            )


def _number(name: str) -> int:
    found = re.match(r"v?(\d+)", name)
    return int(found[1]) if found else -1


def _open_delta(where: str) -> Any:
    from deltalake import DeltaTable

    return DeltaTable(where)


def _open_iceberg(metadata: str) -> Any:
    from pyiceberg.table import StaticTable

    own = {name: os.environ[variable] for name, variable in STORE_VARIABLES.items() if os.environ.get(variable)}
    return StaticTable.from_metadata(metadata, own)


def _refuse_moved(table: Any, place: StoredPlace) -> None:
    """Raise SourceError if an Iceberg table on this machine names files of another folder than the one it lies in."""
    location = str(table.location())
    if location.startswith("file:"):
        location = unquote(urlsplit(location).path)
    folder = os.path.dirname(os.path.dirname(place.path)) if place.path.endswith(METADATA_ENDING) else place.path
    if "://" not in place.written and os.path.realpath(location) != os.path.realpath(folder):
        raise SourceError(
            f"The Iceberg table {place.name!r} was moved or copied: its metadata names files elsewhere.",
            hint="name the table where it was written, or write it anew.",
        )


def _load_by_extension(engine: DuckDBEngine, kind: str, where: str, into: str) -> dict[str, str]:
    """Read a table by DuckDB's extension, which is loaded if it is installed; nothing is installed.

    Raises:
        InputError: it is not installed.
        SourceError: it refuses the table.
    """
    extension, function = FUNCTIONS[kind]
    reading = exp.Table(this=exp.Anonymous(this=function, expressions=[exp.Literal.string(where)]))
    failure = None
    try:
        engine.run("load extension", f"LOAD {extension}")
    except EngineError:
        failure = InputError(
            f"The source is a {kind}, and what reads it is not installed.",
            hint=f"run: python -m pip install 'sqlanon[{PACKAGES[kind]}]'; or INSTALL {extension} in DuckDB.",
        )
    try:
        if failure is None:
            engine.create("read table", into, exp.select("*").from_(reading))
    except EngineError as error:
        failure = _unreadable(kind, Path(where).name, error.kind)
    if failure is not None:
        raise failure
    return dict(engine.catalog.columns(exp.to_table(into, quoted=True)))


def _load_files(engine: DuckDBEngine, place: StoredPlace, into: str) -> dict[str, str]:
    """Read the Parquet files at a place; folders called ``key=value`` are columns.

    Raises:
        SourceError: there is none, or another file.
        SourceChangedError: one changed meanwhile.
    """
    from pyarrow import dataset

    files = _guarded(place.name, place.below)
    read = [item for item in files if not str(item.base_name).startswith(HIDDEN)]
    if not read or not all(str(item.path).lower().endswith(PARQUET_ENDINGS) for item in read):
        raise SourceError(
            f"There are no Parquet files at {place.name!r}, or other files beside them.",
            hint="name a Parquet file, a folder of them, or a Delta or Iceberg table.",
        )

    def opened() -> Any:
        found = dataset.dataset(
            [item.path for item in read],
            filesystem=place.system,
            format="parquet",
            partitioning=dataset.HivePartitioning(_partition_columns(place.path, [str(item.path) for item in read])),
            partition_base_dir=place.path,
        )
        if len({tuple(fragment.physical_schema.names) for fragment in found.get_fragments()}) > 1:
            raise SourceError(
                f"The Parquet files at {place.name!r} differ in their columns.",
                hint="give all files the same columns in the same order, or name fewer files.",
            )
        return found.scanner().to_reader()

    types = load_frame(engine, _guarded(place.name, opened), into)
    if [_mark(item) for item in _guarded(place.name, place.below)] != [_mark(item) for item in files]:
        raise SourceChangedError(
            f"Files at {place.name!r} changed while they were read.", hint="run again when nobody writes to them."
        )
    return types


def _partition_columns(root: str, paths: Iterable[str]) -> pa.Schema:
    """Return the columns that folders called ``key=value`` make."""
    values: dict[str, set[str]] = {}
    for path in paths:
        for part in path.removeprefix(root).split("/")[:-1]:
            key, equal, value = part.partition("=")
            if equal:
                values.setdefault(unquote(key), set()).add(value)
    return pa.schema([(key, ARROW_TYPES[type_of_partitions(found)]) for key, found in values.items()])


def _mark(item: FileInfo) -> tuple[str, int | None, int | None]:
    return item.path, item.size, item.mtime_ns


def _guarded(name: str, work: Callable[[], T]) -> T:
    """Return what ``work`` does; what a library raises becomes an error without its text."""
    try:
        return work()
    except (SourceError, InputError):
        raise
    except Exception as error:
        raise _unreadable("source", urlsplit(name).path.rpartition("/")[2], type(error).__name__) from None


def _unreadable(kind: str, name: str, reason: str) -> SourceError:
    return SourceError(
        f"The {kind} {name!r} cannot be read ({reason}).",
        hint="check the path, the rights and, of an object store (s3://, gs://, abfss://), the variables that it is "
        "reached by, such as AWS_REGION.",
    )
