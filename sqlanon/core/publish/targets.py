"""Where a release goes: names in a database, files, and the checks that need no work to have been done."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlanon.core.disk.writing import check_directory
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.relation_names import relation_parts
from sqlanon.core.formats.base import FileFormat
from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.output import LAKES, PATHS
from sqlanon.core.policy.paths import TARGET_ENDINGS, is_folder, is_url, same_file
from sqlanon.core.publish.papers import MANIFEST, PAPERS
from sqlanon.core.publish.workplace import Workplace, working_at
from sqlanon.core.source.opening import Source
from sqlanon.core.source.periods import OpenPeriods
from sqlanon.core.source.recorded import Recording
from sqlanon.errors import InputError, TargetError, UnsupportedError

if TYPE_CHECKING:  # loaded where a release is replaced
    from sqlanon.core.publish.replaced import Replacing

EXTEND = "extend"
"""What becomes of a target to which periods are added."""
RELEASED = "_released"
"""A view release stands on a table of its own: the view's name with this ending."""
LOOKUP = "_lookup_"
"""A live view stands on a table per lookup of its quasi-identifiers: its name with this and a number."""
FROZEN = "_frozen"
"""A live view stands on a table of the facts that it was created with: its name with this ending."""
SHOWN, LEFT = "_shown", "_left"
"""A live view with an epoch stands on a table of the rows that it shows until the epoch ends, and has one of the
records that it showed once: its name with these endings."""
FACT_COLUMNS = ("kind", "name", "value")
"""The columns of these facts; those of the kind ``lookup`` name the lookups."""
FOLDER_ENDING = ".parquet"
"""A release that many machines write is a folder of Parquet files: its ending and theirs."""


def place(engine: Engine, target: str | exp.Table, target_catalog: str | None) -> Place:
    """Return the full name of ``target``: ``name``, ``schema.name`` or ``database.schema.name``.

    Raises:
        TargetError: the target is no name of a relation.
    """
    if isinstance(target, exp.Table):
        return engine.targets.place([part.name for part in target.parts], target_catalog)
    try:
        parts, hint = relation_parts(target, engine.capabilities.dialect, alone=False), ""
    except InputError as error:
        parts, hint = [], error.hint
    if not parts:
        raise TargetError(f"The target {target!r} is no name of a relation.", hint=hint)
    return engine.targets.place(parts, target_catalog)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a release goes, and what was read on the way there, which nothing is published to.

    Attributes:
        output: its kind and name, its owner and readers.
        if_exists: ``error``, ``replace``, or ``extend`` of a release by periods.
        catalog: the database that tables and views go to; None: the connection's own.
        source_path: the file that the source is.
        source_frame: what a frame is called that the source is.
        read, read_files: the relations and files that were read.
        workplace: of a file, held by the run that this target is of (``reserved``).
        recorder: writes the release down.
        replacing: compares it with an earlier release that it replaces; None where a ledger judges them.
        if_changed: a release that is equal to the earlier one is not written.
        periods: puts earlier periods beside those that are written; None where a run releases all records.
    """

    output: Output
    if_exists: str = "error"
    catalog: str | None = None
    source_path: Path | None = None
    read: tuple[exp.Expr, ...] = ()
    read_files: tuple[Path, ...] = ()
    extensions: Extensions = NOTHING
    workplace: Workplace | None = None
    recorder: Recording | None = None
    source_frame: str | None = None
    replacing: Replacing | None = None
    if_changed: bool = False
    periods: OpenPeriods | None = None

    @classmethod
    def of(cls, source: Source, policy: Policy, output: Output) -> Target:
        """Return the target of a release of ``source``; ``output`` need not be the policy's own."""
        return cls(
            output,
            EXTEND if policy.periods is not None or source.periods is not None else policy.if_exists,
            source.target_catalog,
            source.path,
            source.read,
            source.files,
            policy.extensions,
            source_frame=source.frame,
            periods=source.periods,
        )

    @contextmanager
    def reserved(self) -> Iterator[Target]:
        """Yield this target, which no other run publishes to until the block ends.

        Raises:
            TargetError: another run does.
        """
        if self.output.kind != "file":  # databases have transactions
            yield self
            return
        with working_at(Path(self.output.target)) as workplace:
            yield replace(self, workplace=workplace)

    def working(self) -> AbstractContextManager[Workplace]:
        """Return the workplace of a file: the reserved one, or one that is claimed for this moment."""
        return working_at(Path(self.output.target)) if self.workplace is None else nullcontext(self.workplace)

    def file_format(self) -> FileFormat | None:
        """Return the format that writes its file; None when the engine does.

        Raises:
            TargetError: its ending is not known.
        """
        path = Path(self.output.target)
        if path.suffix.lower() in TARGET_ENDINGS:
            return None
        found = self.extensions.format_of(path.suffix)
        if found is None or not found[1].writes:
            raise TargetError(
                f"The target file {path.name!r} has an ending that is not known.",
                hint=f"use {', '.join(TARGET_ENDINGS)} or .xml.",
            )
        return found[1]


def check_target(engine: Engine, target: Target, *, read: Sequence[exp.Expr] = ()) -> None:
    """Refuse a target that cannot be published to, before any work.

    Args:
        read: further trees that mention relations that are read, such as the query of the release.

    Raises:
        TargetError: it exists, it is the source, or it cannot be written.
        UnsupportedError: the engine does not have such targets, or no roles.
    """
    output, path = target.output, target.source_path
    if output.owner is not None or output.readers:
        engine.capabilities.require("roles")
    if output.kind in LAKES:
        _check_lake(engine, target)
        return
    if output.kind == "file":
        _check_file(engine, target)
        return
    if target.source_frame is not None:
        raise TargetError(
            f"The {target.source_frame} is read into a database that ends with the run and keeps no {output.kind}.",
            hint="leave out output and take Release.to_arrow() and its like; or publish to a file: output: "
            "{file: release.parquet}.",
        )
    if path is not None and target.catalog is None:
        raise TargetError(
            f"A source file of the kind {path.suffix!r} cannot hold a {output.kind}.",
            hint="publish to a file: output: {file: release.parquet}.",
        )
    engine.capabilities.require(f"{output.kind}s")
    where = place(engine, output.target, target.catalog)
    engine.targets.check_roles(where, output.owner, output.readers)
    places = {where: "view" if output.kind == "live_view" else output.kind}
    if output.kind == "view":
        places[where.named(where.name + RELEASED)] = "table"
    if output.kind == "live_view":
        endings = (FROZEN, SHOWN, LEFT) if output.epoch is not None else (FROZEN,)
        places |= {where.named(where.name + ending): "table" for ending in endings}
    for candidate, kind in places.items():
        _check_relation(engine, candidate, kind, target, (*target.read, *read))
    for candidate in list(places)[1:]:
        if engine.catalog.existing(candidate) and candidate not in tables_beneath(engine, where):
            raise TargetError(
                f"The table {candidate.schema}.{candidate.name}, which a release would replace, is not beneath one.",
                hint="choose another name, or drop it yourself.",
            )


def tables_beneath(engine: Engine, where: Place) -> list[Place]:
    """Return the tables that a view of ours at ``where`` stands on, a snapshot's or a live one's; no others."""
    released = _released_table(engine, where)
    return [*([released] if released is not None else []), *frozen_tables(engine, where)]


def _released_table(engine: Engine, where: Place) -> Place | None:
    """Return the table beneath a view release at ``where``: the one with its name, if the view reads it alone."""
    base = where.named(where.name + RELEASED)
    if engine.catalog.existing(where) != "view" or engine.catalog.existing(base) != "table":
        return None
    try:
        view = parse_one(engine.catalog.view_text(where), dialect=engine.capabilities.dialect)
    except SqlglotError:  # a view that sqlanon did not write
        return None
    own = {} if not isinstance(view, exp.Create) else {id(view.this), id(view.find(exp.Table))}
    read = [table for table in view.find_all(exp.Table) if id(table) not in own]
    return base if [table.name.casefold() for table in read] == [base.name.casefold()] else None


def frozen_tables(engine: Engine, where: Place) -> list[Place]:
    """Return the tables beneath a live view, its facts first, when there is one at ``where``, or was."""
    catalog, facts = engine.catalog, where.named(where.name + FROZEN)
    if catalog.existing(facts) != "table" or [name for name, _ in catalog.columns(facts.table)] != list(FACT_COLUMNS):
        return []
    kind, name = (exp.column(key, quoted=True) for key in FACT_COLUMNS[:2])
    listed = exp.select(name).from_(facts.table).where(kind.isin("lookup", "records"))
    beneath = [str(row[0]) for row in engine.run("read facts", listed)]
    prefix = (where.name + LOOKUP).casefold()  # whatever the facts name
    own = [(where.name + ending).casefold() for ending in (SHOWN, LEFT)]
    named = [where.named(name) for name in beneath if name.casefold().startswith(prefix) or name.casefold() in own]
    return [facts, *(lookup for lookup in named if catalog.existing(lookup) == "table")]


def _check_relation(engine: Engine, where: Place, kind: str, target: Target, read: Sequence[exp.Expr]) -> None:
    tables = [table for tree in read for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    found = engine.catalog.existing(where)
    if found and any(where.same(place(engine, table, target.catalog if table.db else None)) for table in tables):
        raise TargetError(f"The target {where.name!r} is the source itself.", hint="choose another name.")
    if found and target.if_exists == "error":
        raise _exists(kind, f"{where.schema}.{where.name}")
    if found and found != kind:
        raise TargetError(
            f"The target {where.schema}.{where.name} exists and is a {found}, not a {kind}.",
            hint="choose another name, or drop it yourself.",
        )


def _check_lake(engine: Engine, target: Target) -> None:
    """Refuse a table of a lakehouse that must not be created, and an engine whose release no embedded DuckDB reads."""
    output, kind = target.output, LAKES[target.output.kind]
    if engine.capabilities.writes_folders:
        raise UnsupportedError(
            f"{engine.capabilities.name} does not publish to a {kind}.",
            hint="publish to a folder of Parquet files, and load that: output: {file: release.parquet}.",
        )
    from sqlanon.core.publish.lakes import open_lake  # loaded by need

    if output.kind in PATHS and not is_url(output.target):
        _check_place(engine, target, Path(output.target))
    if open_lake(output).frame is not None and target.if_exists == "error":
        raise TargetError(
            f"The {kind} {Path(output.target).name!r} exists already, and keeps all that was released to it.",
            hint="choose another name.",
        )


def _check_place(engine: Engine, target: Target, path: Path) -> list[Path]:
    """Refuse a path that is a source, or in one, or in a release; return the files that are read."""
    held = [Path(file) for _, file, _ in engine.catalog.databases() if file is not None]
    read = [*([target.source_path] if target.source_path else []), *target.read_files, *held]
    for used in read:
        if same_file(path, used):
            raise TargetError(f"The target file {path.name!r} is in use as a source.", hint="choose another name.")
        if is_folder(used) and used.resolve() in path.resolve().parents:
            raise TargetError(
                f"The target file {path.name!r} is in the folder that is the source, and would be read as part of it.",
                hint="choose another folder.",
            )
    for folder in path.absolute().parents:
        if Path(f"{folder}{MANIFEST}").is_file() and (_is_partitioned(folder) or _is_release(folder)):
            raise TargetError(
                f"The target file {path.name!r} is in {folder.name!r}, which is a release, and would be read as part "
                "of it.",
                hint="choose another folder.",
            )
    check_directory(path)
    return read


def _check_file(engine: Engine, target: Target) -> None:
    path = Path(target.output.target)
    read = _check_place(engine, target, path)
    refuse_folders_of_papers(path)
    if engine.capabilities.writes_folders or target.output.partition_by:
        if any(path.resolve() in file.resolve().parents for file in read):
            raise TargetError(f"The target folder {path.name!r} holds the source.", hint="choose another place.")
        if target.output.partition_by:
            check_partitions_folder(engine, path, target.if_exists)
        else:
            check_folder(path, target.if_exists)
        return
    target.file_format()
    if os.path.lexists(path) and (target.if_exists != "replace" or path.is_dir()):
        raise _exists("file", path.name)


def refuse_folders_of_papers(path: Path) -> None:
    """Raise TargetError if a folder is where the manifest or the certificate of a release goes."""
    for paper in (path.with_name(path.name + ending) for ending in PAPERS):
        if paper.is_dir():
            raise TargetError(
                f"{paper.name!r} is a folder, where an accompanying file of the release goes.", hint="remove it."
            )


def check_folder(path: Path, if_exists: str) -> None:
    """Refuse a folder that must not be created or replaced.

    Raises:
        TargetError: it has another ending, is there, or holds something else than a release.
    """
    if path.suffix.lower() != FOLDER_ENDING:
        raise TargetError(
            f"The target {path.name!r} would be written by a cluster, which writes folders of Parquet files only.",
            hint=f"give it the ending {FOLDER_ENDING}.",
        )
    if os.path.lexists(path) and if_exists != "replace":
        raise _exists("folder", path.name)
    if os.path.lexists(path) and not _is_release(path):
        raise TargetError(
            f"The target {path.name!r} is no folder of Parquet files alone, and is not replaced.",
            hint="choose another name, or remove it yourself.",
        )


def check_partitions_folder(engine: Engine, path: Path, if_exists: str) -> None:
    """Refuse a folder of partitions that must not be created or replaced, and an engine that writes none.

    Raises:
        UnsupportedError: the engine is no DuckDB.
        TargetError: it is there and is no such release, or its path would be read as partitions.
    """
    if not engine.capabilities.has("files"):
        raise UnsupportedError(
            f"A release of {engine.capabilities.name} is not partitioned.",
            hint="leave out partition_by, or give Parquet or CSV files as the source.",
        )
    if any("=" in part for part in path.absolute().parts):
        raise TargetError(
            f"The path of the target {path.name!r} has an equals sign, which readers of partitions take for a column.",
            hint="choose another folder.",
        )
    if not os.path.lexists(path):
        return
    if if_exists == "error":
        raise _exists("folder", path.name)
    if not path.with_name(path.name + MANIFEST).is_file() or not _is_partitioned(path):
        raise TargetError(
            f"The target {path.name!r} is no partitioned release with its manifest alone, and is not replaced.",
            hint="choose another name, or remove it yourself.",
        )


def _is_partitioned(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    entries = list(folder.rglob("*"))
    return not any(entry.is_symlink() for entry in entries) and all(
        "=" in entry.name if entry.is_dir() else entry.suffix == FOLDER_ENDING and entry.parent != folder
        for entry in entries
    )


def _exists(kind: str, name: str) -> TargetError:
    hint = "choose another name, or set if_exists: replace."
    return TargetError(f"The target {kind.replace('_', ' ')} {name!r} exists already.", hint=hint)


def _is_release(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    return all(
        entry.suffix == FOLDER_ENDING and entry.is_file() and not entry.is_symlink() for entry in folder.iterdir()
    )
