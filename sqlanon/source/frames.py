"""Frames: tables of other libraries, which hand their records over as a stream of Arrow.

The stream is read once, from Arrow into a table of DuckDB; no record becomes an object of Python. The libraries are
optional: none is imported here, and a frame of one is there only if its user imported it. What a frame knows besides
its columns is left behind: its index, its order, its metadata, and the categories of a dictionary that no record has.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from sqlanon.engines.duckdb.dialect import render
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.duckdb.private import as_carried
from sqlanon.errors import EngineError, SourceError
from sqlanon.sqltrees.trees import table

STREAM = "__arrow_c_stream__"
"""The method of the Arrow PyCapsule interface by which a library hands a table over."""
BATCH_ROWS = 50_000
"""Records of a relation of DuckDB that are handed over at once."""
KINDS = {
    "pandas": "pandas frame",
    "polars": "polars frame",
    "narwhals": "narwhals frame",
    "ibis": "Ibis table",
    "pyarrow": "Arrow table",
    "duckdb": "DuckDB relation",
    "deltalake": "Delta table",
    "pyiceberg": "Iceberg table",
}
"""What a frame is called, by the package of its class."""
LAKES = ("deltalake", "pyiceberg")
"""Packages whose tables are read at the version that they were opened at; none of them is a stream of Arrow."""
EXTENSION = b"ARROW:extension:name"
KNOWN_EXTENSIONS = ("arrow.uuid", "arrow.json", "arrow.bool8")
"""Types beyond those of Arrow that DuckDB reads as what they mean; of others it would read what they are made of."""
AS_TEXT = ("ENUM", '"NULL"')
"""Types of columns that become texts: an ENUM lists values that no record may have, and NULL has none."""
Stream = tuple[pa.RecordBatchReader, dict[str, str]]
"""The records, and the types of DuckDB that columns had before they were handed over as texts."""


def is_frame(source: object) -> bool:
    """Return True for what hands its records over as a stream of Arrow, and for tables of a lakehouse."""
    return hasattr(type(source), STREAM) or is_lake_table(source)


def is_lake_table(source: object) -> bool:
    """Return True for an open Delta table, and for an Iceberg table or a scan of it."""
    return _package(source) in LAKES


def is_lazy(source: object) -> bool:
    """Return True for a query of polars or narwhals that was not carried out yet."""
    return type(source).__name__ == "LazyFrame"


def kind_of_frame(source: object) -> str:
    """Return what a frame is called, such as ``pandas frame``."""
    return KINDS.get(_package(source), "frame")


def load_frame(engine: DuckDBEngine, source: object, into: str) -> dict[str, str]:
    """Bring the records of a frame into the table ``into``; return the types of its columns.

    Raises:
        SourceError: the frame is no table, has columns without a name of their own, or a type that DuckDB lacks.
    """
    records, carried = _stream_of(source)
    _check_names(records.schema.names)
    types = _types(engine, records.schema, kind_of_frame(source))
    found = {name: carried.get(name, kind) for name, kind in types.items()}
    wanted = {name: "VARCHAR" if kind.startswith(AS_TEXT) else kind for name, kind in found.items()}
    kind = ""
    try:
        engine.load_stream("read frame", into, records, {n: k for n, k in wanted.items() if k != types[n]})
    except EngineError as error:
        kind = error.kind
    if kind:
        raise _unreadable(source, kind)
    return dict(engine.columns(table(into)))


def _stream_of(source: object) -> Stream:
    """Return the records of a frame.

    Raises:
        SourceError: it cannot hand them over.
    """
    kind = ""
    try:
        if _package(source) == "narwhals":
            source = source.to_native()  # type: ignore[attr-defined]
        if is_lake_table(source):
            return _of_lake(source), {}
        if _package(source) == "duckdb":
            return _of_relation(source)
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(source, pandas.DataFrame):
            return _of_pandas(source)
        if _package(source) == "polars":
            _refuse_objects(source)
        return pa.RecordBatchReader.from_stream(source), {}
    except SourceError:
        raise
    except Exception as error:  # of any library, and its message may quote a value
        kind = type(error).__name__
    raise _unreadable(source, kind)


def _of_lake(table: Any) -> pa.RecordBatchReader:
    """Return the records of a Delta table, or of an Iceberg table or a scan of it."""
    if _package(table) == "deltalake":
        return pa.RecordBatchReader.from_stream(table.scan())
    scan = table if hasattr(table, "to_arrow_batch_reader") else table.scan()
    return scan.to_arrow_batch_reader()


def _of_pandas(frame: Any) -> Stream:
    """Return the columns of a pandas frame, without its index."""
    _check_names(frame.columns)
    try:
        records = pa.Table.from_pandas(frame, preserve_index=False)
        return records.replace_schema_metadata(None).to_reader(), {}
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        mixed = [name for place, name in enumerate(frame.columns) if not _converts(frame.iloc[:, place])]
    raise SourceError(
        f"The pandas frame has columns whose values are not all of one type: {_listed(mixed)}.",
        hint='give each one type first, e.g. frame["column"].astype("string").',
    )


def _converts(column: Any) -> bool:
    try:
        pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _refuse_objects(frame: Any) -> None:
    """Raise SourceError if a polars frame has columns of Python objects, which it would hand over as addresses."""
    if objects := [name for name, kind in getattr(frame, "schema", {}).items() if str(kind) == "Object"]:
        raise SourceError(
            f"The polars frame has columns of Python objects: {_listed(objects)}.",
            hint="give them a type of polars, or leave them out.",
        )


def _of_relation(relation: Any) -> Stream:
    """Return the rows of a relation of DuckDB; types that Arrow would change are handed over as texts."""
    names = list(relation.columns)
    _check_names(names)
    columns, types = as_carried(dict(zip(names, map(str, relation.types), strict=True)))
    return relation.project(", ".join(map(render, columns))).to_arrow_reader(BATCH_ROWS), types


def _check_names(names: Iterable[object]) -> None:
    """Raise SourceError unless each column has a text as a name that no other one has, in whatever case."""
    listed = list(names)
    if other := [name for name in listed if not isinstance(name, str)]:
        raise SourceError(
            f"The frame has {len(other)} columns whose names are no texts.",
            hint="name them, e.g. frame.columns = [str(name) for name in frame.columns].",
        )
    if not listed:
        raise SourceError("The frame has no columns.", hint="check how it was made.")
    if not all(listed):
        raise SourceError("The frame has a column without a name.", hint="name it.")
    counts = Counter(str(name).casefold() for name in listed)
    if twice := sorted({str(name) for name in listed if counts[str(name).casefold()] > 1}):
        raise SourceError(
            f"The frame has columns of one name, or of names that differ by case only: {_listed(twice)}.",
            hint="rename them; in SQL these are one name.",
        )


def _types(engine: DuckDBEngine, schema: pa.Schema, kind: str) -> dict[str, str]:
    """Return the types that DuckDB gives the columns.

    Raises:
        SourceError: it has none for some.
    """
    types: dict[str, str] = {}
    refused = []
    for field in schema:
        extended = (field.metadata or {}).get(EXTENSION, b"").decode("utf-8", "replace")
        if isinstance(field.type, pa.BaseExtensionType):
            extended = field.type.extension_name
        found = None if extended and extended not in KNOWN_EXTENSIONS else engine.arrow_type(field)
        if found is None:
            refused.append(f"{field.name!r} ({extended or _base(field.type)})")
        else:
            types[field.name] = found
    if refused:
        raise SourceError(
            f"The {kind} has columns of types that DuckDB does not read: {', '.join(refused)}.",
            hint="cast them to numbers, texts or timestamps first, or leave them out.",
        )
    return types


def _base(kind: pa.DataType) -> str:
    """Return the name of a type of Arrow, without what it is made of."""
    return str(kind).split("<")[0]


def _unreadable(source: object, kind: str) -> SourceError:
    name = kind_of_frame(source)
    cure = "it must be a table whose columns have types of Arrow, and a query must run by itself"
    return SourceError(f"The {name} cannot be read ({kind}).", hint=f"{cure}: check it with pyarrow.table(…).")


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0].lstrip("_")


def _listed(names: Iterable[object]) -> str:
    return ", ".join(repr(str(name)) for name in names)
