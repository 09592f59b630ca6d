"""The records of files: a table function of the engine, or a table of ours that a text or another format has filled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.engines.base import Engine
from sqlanon.core.engines.confined import allowed_files
from sqlanon.core.engines.duckdb.engine import DuckDBEngine
from sqlanon.core.engines.duckdb.files import CsvForm, csv_relation, parquet_relation
from sqlanon.core.formats.base import FileFormat, findings_of
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.paths import TEXT_ENDINGS, FilePatterns, flat_ending, is_connection_text, is_file, is_url
from sqlanon.core.source.csv_copies import Read, needs_copy, readable
from sqlanon.core.source.csv_readings import (
    RAW,
    ColumnReading,
    blank_columns,
    count_readings,
    csv_readings,
    read_columns,
)
from sqlanon.core.source.csv_records import count_records, csv_form, find_delimiter, find_fault, line_of
from sqlanon.core.source.csv_types import Conversion, Misfit, Wanted, find_conversions
from sqlanon.core.source.lake_folders import is_lake_path, refuse_files_of_lakes
from sqlanon.core.sqltrees.trees import column, named, row_number, table, union_all
from sqlanon.errors import EngineError, InputError, SourceError, UnsupportedError
from sqlanon.parameters import names_of

PARQUET_ENDINGS = (".parquet", ".pq")
TEXTS = "_texts"
"""Ends the name of the table that holds the texts of a file until some become numbers or dates."""


@dataclass(frozen=True, slots=True)
class Records:
    """The records of files: their relation, how many a text holds (None: not counted), what to report of it, and by
    which options of its format a file was read, where the format says so.
    """

    relation: exp.Expr
    count: int | None = None
    notes: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read: the options of CSV, those of other formats by name, and the formats there are.

    Attributes:
        wanted: columns of texts that have to be read as numbers or dates; what is not there is not looked for.
        needs_records: a text without records is refused as a source.
        reports: what ``csv`` rewrites is noted; otherwise the caller says so.
        finds_delimiter: where the options name no delimiter, the one is taken by which all lines are alike.
    """

    csv: Mapping[str, Any] = field(default_factory=dict)
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    extensions: Extensions = NOTHING
    wanted: Mapping[str, Wanted] = field(default_factory=dict)
    needs_records: bool = False
    finds_delimiter: bool = False
    reports: bool = True

    def records(self, engine: Engine, *files: Path, into: str) -> Records:
        """Return the records of files with the same columns; what the engine does not read itself, and texts, are
        brought into the table ``into``.

        Raises:
            SourceError: the ending is not known, the format refuses the file, columns differ, or records of a text are
                malformed, or not all of them were read.
            EngineError: the engine refused a statement.
        """
        if not isinstance(engine, DuckDBEngine):
            return self._read_apart(engine, files, into)
        endings = {flat_ending(file.name) for file in files}
        if endings <= set(PARQUET_ENDINGS):
            return Records(_parquet(engine, files))
        if endings <= set(TEXT_ENDINGS):
            return self._read_texts(engine, files, into)
        if len(files) > 1:
            raise SourceError(
                "Several files are read as one source only if all are CSV, or all Parquet.", hint="convert the others."
            )
        found = self.extensions.format_of(files[0].suffix)
        if found is None:
            raise SourceError(
                f"The source file {files[0].name!r} has an ending that is not known.",
                hint="give a .duckdb, .db, .parquet, .csv, .csv.gz, .csv.zip, .tsv, .xml, .xlsx, .ods, .sav, .dta or "
                ".sas7bdat file, or an open DuckDB connection.",
            )
        name, file_format = found
        rows = read_file(file_format, files[0], self.formats.get(name, {}))
        notes, options = findings_of(rows.schema)
        dates = {name: want for name, want in self.wanted.items() if want.kind == "date" and name in rows.schema.names}
        engine.load_batches("read file", into + TEXTS if dates else into, rows)
        if dates:
            notes += (_read_dates(engine, files[0].name, rows.schema.names, dates, into),)
        return Records(table(into), notes=notes, options={name: options} if options else {})

    def _read_apart(self, engine: Engine, files: Sequence[Path], into: str) -> Records:
        """Return the records of files, read by an embedded DuckDB and carried to another engine."""
        with closing(DuckDBEngine()) as embedded:
            found = self.records(embedded, *files, into=into)
            data = embedded.arrow("read file", exp.select("*").from_(found.relation))
        engine.load("read file", into, data, replayed=False)
        return replace(found, relation=table(into))

    def has_header_line(self, path: Path) -> bool:
        """Return True if the first line or row of a file names its columns. It may be a record all the same."""
        if flat_ending(path.name) in TEXT_ENDINGS:
            return self.csv.get("header") is not False
        name, known = self.extensions.format_of(path.suffix) or ("", None)
        can_lack = known is not None and "header" in names_of(known.options)
        return can_lack and self.formats.get(name, {}).get("header") is not False

    def _read_texts(self, engine: DuckDBEngine, files: Sequence[Path], into: str) -> Records:
        """Return the records of CSV files: read once, counted, and with the types that are wanted."""
        read = [(file, form, count_records(file, form)) for file in files for form in [self._form(file)]]
        _refuse_differing([(file, held.columns) for file, _, held in read])
        wanted = self._wanted(read[0])
        texts = into + TEXTS if wanted else into
        columns = read[0][2].columns
        readings: Mapping[str, ColumnReading] = csv_readings(self.csv, columns, files[0].name)
        read_notes: tuple[str, ...] = ()
        if readings or self.csv.get("blank_columns") == "drop":
            count = _stage(engine, read, into + RAW)
            columns, readings, read_notes = self._reread(engine, read[0], readings, into + RAW, texts)
        else:
            count = _stage(engine, read, texts)
        if self.reports and (last := sum(form.skip_last for _, form, _ in read)):
            read_notes += (f"{last:,} records at the end of {files[0].name!r} are left out (skip_last).",)
        if not wanted:
            return Records(table(into), count, read_notes)
        found, changed, misfits = self._conversions(engine, table(texts), wanted, readings)
        if misfits:
            raise _misfits(engine, read, misfits, readings)
        _convert(engine, columns, found, into)
        untold = [name for name in found if name not in (self.csv.get("types") or {})]
        note = f"{_types_note(files[0].name, found, changed, untold)}. Other columns stay text (csv: {{types: …}})."
        return Records(table(into), count, (*read_notes, note) if untold else read_notes)

    def _reread(
        self, engine: DuckDBEngine, first: Read, readings: Mapping[str, ColumnReading], raw: str, into: str
    ) -> tuple[tuple[str, ...], Mapping[str, ColumnReading], tuple[str, ...]]:
        """Read the columns of a table as they are written, and return those that stay, how, and what to report."""
        file, _, held = first
        blank = blank_columns(engine, table(raw), held.unnamed) if self.csv.get("blank_columns") == "drop" else []
        columns = tuple(name for name in held.columns if name not in blank)
        found = count_readings(engine, table(raw), {name: readings[name] for name in columns if name in readings})
        engine.create("columns of texts", into, read_columns(columns, found.readings, table(raw)))
        engine.drop(raw)
        note = found.note(file.name)
        notes = [note] if note else []
        if not self.reports:
            return columns, found.readings, ()
        if blank:
            notes += [f"{len(blank)} columns of {file.name!r} without a name and without a text are left out."]
        return columns, found.readings, tuple(notes)

    def _conversions(
        self,
        engine: DuckDBEngine,
        relation: exp.Expr,
        wanted: Mapping[str, Wanted],
        readings: Mapping[str, ColumnReading],
    ) -> tuple[dict[str, Conversion], dict[str, int], list[Misfit]]:
        """Return how columns of texts are converted; dates that were rewritten have no other format any more."""
        formats = (self.csv.get("date_format"), self.csv.get("timestamp_format"))
        rewritten = {name: want for name, want in wanted.items() if name in readings and readings[name].dates}
        others = {name: want for name, want in wanted.items() if name not in rewritten}
        found, changed, misfits = find_conversions(engine, relation, others, *formats)
        if rewritten:
            more = find_conversions(engine, relation, rewritten, None, None)
            found, changed, misfits = found | more[0], changed | more[1], [*misfits, *more[2]]
        return found, changed, misfits

    def _form(self, file: Path) -> CsvForm:
        form = csv_form(file, self.csv)
        found = None if self.csv.get("delimiter") or not self.finds_delimiter else find_delimiter(file, form)
        return form if found is None else replace(form, delimiter=found)

    def _wanted(self, first: Read) -> dict[str, Wanted]:
        """Return what columns of CSV files have to be read as.

        Raises:
            SourceError: the policy names the type of a column that is not there.
        """
        file, _, held = first
        types: Mapping[str, str] = self.csv.get("types") or {}
        missing = [name for name in types if name not in held.columns]
        if missing:
            raise SourceError(
                f"The file {file.name!r} has no column {', '.join(map(repr, missing))}, whose type is named.",
                hint="check the key csv.types.",
            )
        wanted = {name: want for name, want in self.wanted.items() if name in held.columns}
        named_types = {name: Wanted(kind.upper()) for name, kind in types.items()}
        return {name: want for name, want in (wanted | named_types).items() if want.kind != "VARCHAR"}


def _convert(engine: DuckDBEngine, columns: Sequence[str], found: Mapping[str, Conversion], into: str) -> None:
    """Make a table of the texts that are staged for it, with the types that were found."""
    values = [named(found[name].of(name), name) if name in found else column(name) for name in columns]
    engine.create("types", into, exp.select(*values).from_(table(into + TEXTS)))
    engine.drop(into + TEXTS)


def _types_note(file: str, found: Mapping[str, Conversion], changed: Mapping[str, int], names: Iterable[str]) -> str:
    notes = [
        f"{name!r} {found[name].title}" + (f" ({changed[name]} texts are written otherwise)" if changed[name] else "")
        for name in names
    ]
    return f"Types found in {file!r}: {', '.join(notes)}"


def _read_dates(
    engine: DuckDBEngine, file: str, columns: Sequence[str], wanted: Mapping[str, Wanted], into: str
) -> str:
    """Read columns of a file of another format as dates, as those of a CSV file are; return what to report."""
    hint = 'say how they are written, dates: {…, format: "%d.%m.%Y"}, or which texts are NULL.'
    try:
        found, changed, misfits = find_conversions(engine, table(into + TEXTS), wanted, None, None)
    except SourceError as error:
        raise SourceError(error.message, hint=hint) from None
    if misfits:
        counts = [f"{item.count} texts of column {item.name!r} are no dates" for item in misfits]
        raise SourceError(f"{'; '.join(counts)} ({file!r}).", hint=hint)
    _convert(engine, columns, found, into)
    return _types_note(file, found, changed, found) + "."


def _parquet(engine: DuckDBEngine, files: Sequence[Path]) -> exp.Expr:
    """Return the relation of Parquet files, each with the same columns, and none a part of a table of a lakehouse."""
    refuse_files_of_lakes(files)
    if len(files) > 1:
        columns = [(f, tuple(name for name, _ in engine.catalog.columns(parquet_relation([f])))) for f in files]
        _refuse_differing(columns)
    return parquet_relation(files)


def _refuse_differing(columns: Sequence[tuple[Path, tuple[str, ...]]]) -> None:
    """Raise SourceError unless all files have the same columns in the same order."""
    first, expected = columns[0]
    others = [file for file, found in columns if found != expected]
    if others:
        raise SourceError(
            f"{len(others)} of the {len(columns)} files have other columns than {first.name!r}; the first is "
            f"{others[0].name!r}.",
            hint="give all files the same columns in the same order, or name fewer files.",
        )


def _stage(engine: DuckDBEngine, read: Sequence[Read], into: str) -> int:
    """Bring the texts of CSV files into a table; return the number of records.

    Raises:
        SourceError: a record is malformed, or other than all records were read.
    """
    columns = read[0][2].columns
    failure = None
    count, expected = -1, sum(held.records for *_, held in read)
    with readable(engine, read) as found:
        alike: dict[CsvForm, list[Path]] = defaultdict(list)
        for file, form in found:
            alike[form].append(file)
        queries = [exp.select("*").from_(csv_relation(files, columns, form)) for form, files in alike.items()]
        portable = None
        if any(needs_copy(form, held) for _, form, held in read):  # the script has a table to fill: it reads no copies
            nothing = [named(exp.cast(exp.null(), "VARCHAR"), name) for name in columns]
            portable = exp.select(*nothing).where(exp.false())
        try:
            count = engine.create("stage", into, union_all(queries), portable=portable)
        except EngineError as error:
            failure = error
    if count == expected:
        return count
    for file, form, held in read:
        if (fault := find_fault(file, form, held)) is not None:
            raise SourceError(fault[0], hint=fault[1])
    if failure is not None:
        raise failure
    raise SourceError(
        f"The files from {read[0][0].name!r} on hold {expected} records, but {count} were read.",
        hint="write them anew with regular quotes and line ends, as UTF-8.",
    )


def _misfits(
    engine: DuckDBEngine, read: Sequence[Read], misfits: Sequence[Misfit], readings: Mapping[str, ColumnReading]
) -> SourceError:
    """Return the error of columns whose texts are not all of the type that is wanted."""
    parts = []
    for item in misfits:
        file, line = _place(engine, read, item, readings)
        parts.append(
            f"{item.count} texts of column {item.name!r} are no {item.wanted}; the first is in line {line} of {file!r}"
        )
    return SourceError(
        f"{'. '.join(parts)}.",
        hint="if they stand for NULL, say csv: {null: …}; name the format of dates, csv: {date_format: …}, signs of "
        "numbers, csv: {decimal: …}, or how single columns are written, csv: {columns: …}; correct the file; or take "
        "another hierarchy.",
    )


def _place(
    engine: DuckDBEngine, read: Sequence[Read], item: Misfit, readings: Mapping[str, ColumnReading]
) -> tuple[str, int]:
    """Return the file and the line of the first text that does not fit."""
    text = readings[item.name].rewritten(item.name) if item.name in readings else column(item.name)
    for file, form, held in read:
        with readable(engine, [(file, form, held)]) as [(path, plain)]:
            relation = csv_relation([path], held.columns, plain, ordered=True)
            numbered = exp.select(named(row_number(), "record"), named(text, item.name)).from_(relation)
            first = exp.select(exp.Min(this=column("record"))).from_(numbered.subquery("numbered"))
            record = engine.run("first misfit", first.where(item.conversion.misfits(item.name)))[0][0]
        if record is not None:
            return file.name, line_of(file, form, held, int(record))
    return read[0][0].name, 1


def read_file(file_format: FileFormat, path: Path, options: Mapping[str, Any]) -> pa.RecordBatchReader:
    """Return the rows of a file as its format reads them, all of them texts.

    Raises:
        SourceError: the format refuses the file, now or while the rows are read; or it has columns without a name, or
            with one name in two cases.
    """
    rows = file_format.read(path, options)
    columns = rows.schema.names
    if not all(columns) or len({name.casefold() for name in columns}) < len(columns):
        raise SourceError(
            f"The file {path.name!r} has columns without a name, or two that differ by case only.",
            hint="rename them.",
        )
    return rows


def refuse_beyond_files(source: object, on_cluster: bool) -> None:
    """Raise UnsupportedError for what is no file, where databases may open named files alone (``confined``)."""
    if allowed_files() is None:
        return
    if isinstance(source, FilePatterns):  # it names files of this machine
        return
    named = isinstance(source, str | Path)  # the text of a relation would be its records
    if on_cluster or not named or is_url(str(source)) or is_lake_path(Path(str(source))):
        raise UnsupportedError(
            "A server, an object store, a cluster or a table of a lakehouse is not opened here.",
            hint="ask about a file, or ask the operator.",
        )


def refuse_connections(source: str) -> None:
    """Raise an error if a source that is no file reads like what a driver connects with.

    Raises:
        UnsupportedError: a database of MotherDuck.
        InputError: anything else.
    """
    if is_file(Path(source)):
        return
    if source.lower().startswith("md:"):
        raise UnsupportedError(
            "A database of MotherDuck is read by an open connection only.",
            hint="in Python: sqlanon.anonymize(duckdb.connect('md:…'), policy); DuckDB's extension motherduck does it.",
        )
    if is_connection_text(source):
        raise InputError(
            "The source reads like what a driver connects with, and is no file; it is not repeated here.",
            hint="write postgresql://host/database without a password: that is taken from PGPASSWORD, a password file "
            "(~/.pgpass) or a service (PGSERVICE).",
        )
