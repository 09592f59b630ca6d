"""Frames: tables of other libraries, which hand their records over as a stream of Arrow.

The stream is read once, from Arrow into a table of DuckDB; no record becomes an object of Python. The libraries are
optional: none is imported here, and a frame of one is there only if its user imported it. What a frame knows besides
its columns is left behind: its index, its order, its metadata, and the categories of a dictionary that no record has.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from sqlanon.core.engines.duckdb.dialect import render
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.private import as_carried
from sqlanon.core.sqltrees.data_types import as_texts
from sqlanon.core.sqltrees.trees import table
from sqlanon.errors import EngineError, SourceError, instead_of

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
NO_TYPE = '"NULL"'
"""What the type of columns without a value begins with; they become texts."""
LISTING = ("ENUM",)
"""Types that list values which no record may have; these become texts, wherever they stand in the type of a column."""
WIDEST = 38
"""Digits of a decimal."""
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
    wanted = {name: "VARCHAR" if kind.startswith(NO_TYPE) else as_texts(kind, LISTING) for name, kind in found.items()}
    with instead_of(EngineError, lambda error: _unreadable(source, error.kind)):
        engine.load_stream("read frame", into, records, {n: k for n, k in wanted.items() if k != types[n]})
    return dict(engine.catalog.columns(table(into)))


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
    records, of_dicts = None, []
    try:
        records = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        mixed = [name for place, name in enumerate(frame.columns) if not _converts(frame.iloc[:, place])]
    else:
        objects = [(i, records.schema.field(i)) for i, kind in enumerate(frame.dtypes) if str(kind) == "object"]
        mixed = [field.name for i, field in objects if _differs(frame.iloc[:, i], field.type)]
        of_dicts = [field.name for _, field in objects if any(map(pa.types.is_struct, _parts(field.type)))]
    if mixed or records is None:
        raise SourceError(
            f"The pandas frame has columns whose values are not all of one type: {_listed(mixed)}.",
            hint='give each one type first, e.g. frame["column"].astype("string").',
        )
    if of_dicts:  # fields of a type, which is published with any record
        raise SourceError(
            f"The pandas frame has columns of dicts, whose keys would be published: {_listed(of_dicts)}.",
            hint="make columns of keys that may be known, or write the dicts as texts (json.dumps).",
        )
    for i, field in objects:
        if pa.types.is_decimal128(field.type):  # as wide as the widest value, which may be suppressed
            wide = pa.decimal128(WIDEST, field.type.scale)
            records = records.set_column(i, field.name, records.column(i).cast(wide))
    return records.replace_schema_metadata(None).to_reader(), {}


def _converts(column: Any) -> bool:
    try:
        pa.Array.from_pandas(column)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _differs(column: Any, kind: pa.DataType) -> bool:
    """Return True if Arrow makes one type of Python objects that say different things: it cuts times off, say."""
    if pa.types.is_binary(kind):
        return any(isinstance(value, str) for value in column)
    if pa.types.is_date(kind):
        return any(isinstance(value, datetime) for value in column.dropna())
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return len({getattr(value, "tzinfo", None) is None for value in column.dropna()}) > 1
    return False


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
    if strange := [name for name in listed if not _is_name(str(name))]:
        raise SourceError(
            f"The frame has {len(strange)} columns whose names are no valid Unicode, or hold a NUL.",
            hint="rename them.",
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


def _is_name(name: str) -> bool:
    """Return True for a name that a database takes."""
    return "\0" not in name and not any("\ud800" <= character <= "\udfff" for character in name)


def _types(engine: DuckDBEngine, schema: pa.Schema, kind: str) -> dict[str, str]:
    """Return the types that DuckDB gives the columns.

    Raises:
        SourceError: it has none for some.
    """
    types: dict[str, str] = {}
    refused = []
    for field in schema:
        extended = (field.metadata or {}).get(EXTENSION, b"").decode("utf-8", "replace")
        names = [extended, *(part.extension_name for part in _parts(field.type) if _is_extension(part))]
        extended = next((name for name in names if name and name not in KNOWN_EXTENSIONS), "")
        found = None if extended else engine.arrow_type(field)
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


def _parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    """Yield a type of Arrow and those that it is made of."""
    yield kind
    if isinstance(kind, pa.DictionaryType | pa.RunEndEncodedType):
        yield from _parts(kind.value_type)
    elif not _is_extension(kind):
        for i in range(kind.num_fields):
            yield from _parts(kind.field(i).type)


def _is_extension(kind: pa.DataType) -> bool:
    return isinstance(kind, pa.BaseExtensionType)


def _base(kind: pa.DataType) -> str:
    """Return the name of a type of Arrow, without what it is made of."""
    return str(kind).split("<")[0]


def lacking_features(table: str, kind: str, features: Sequence[str]) -> SourceError:
    """Return the error of a Delta table that needs features of its reader, such as deletion vectors."""
    listed = ", ".join(sorted(features))
    return SourceError(
        f"The {table} cannot be read ({kind}). It needs features of its reader: {listed}.",
        hint="install the newest deltalake; or let the engine that writes the table remove them (REORG TABLE … APPLY "
        "(PURGE) applies deletion vectors, then ALTER TABLE … DROP FEATURE …); or copy its records to Parquet.",
    )


def _unreadable(source: object, kind: str) -> SourceError:
    name = kind_of_frame(source)
    if _package(source) == "deltalake" and (features := source.protocol().reader_features):  # type: ignore[attr-defined]
        return lacking_features(name, kind, features)
    cure = "it must be a table whose columns have types of Arrow, and a query must run by itself"
    return SourceError(f"The {name} cannot be read ({kind}).", hint=f"{cure}: check it with pyarrow.table(…).")


def _package(source: object) -> str:
    return type(source).__module__.partition(".")[0].lstrip("_")


def _listed(names: Iterable[object]) -> str:
    return ", ".join(repr(str(name)) for name in names)
