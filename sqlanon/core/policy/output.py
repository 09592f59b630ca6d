"""``output``: where the release goes, who may read it, how a live view changes, and by what a file is divided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.ledger import COHORT_MODELS, CohortsSpec
from sqlanon.core.policy.parts import PolicyPart, check, entry, keys_of, of_keys
from sqlanon.core.policy.paths import TARGET_ENDINGS
from sqlanon.errors import InputError
from sqlanon.parameters import find, matching, names, names_of, option, text, whole

TARGET_KEYS = (
    option(
        "view",
        text(),
        about="A view of the source's database, over a table that holds the released rows.",
        example="anon.patients",
        page="warehouse.md",
    ),
    option(
        "live_view",
        text(),
        about="A view that generalizes and counts the source on every read; with an epoch, at its end only.",
        example="anon.patients",
        page="live-views.md",
    ),
    option(
        "table",
        text(),
        about="A table of the source's database.",
        example="anon.patients",
        page="warehouse.md",
    ),
    option(
        "file",
        text(),
        about="A file; its ending is the format: .parquet, .csv, .xml, or .duckdb for a fresh database.",
        example="released.parquet",
    ),
    option(
        "delta",
        text(),
        about="A Delta table, by its folder or its URL in an object store: the release is added in one transaction.",
        example="lake/patients",
        page="lakehouse.md#releases-to-delta-and-iceberg-tables",
    ),
    option(
        "iceberg",
        text(),
        about="An Iceberg table, by a catalog of PyIceberg's configuration, its namespace and its name: the release is "
        "added in one transaction.",
        example="lake.clinic.patients",
        page="lakehouse.md#releases-to-delta-and-iceberg-tables",
    ),
)
"""Kinds of output."""
TARGETS = names_of(TARGET_KEYS)
IN_DATABASE = ("view", "live_view", "table")
"""Kinds of relations of the source's database."""
LAKES = {"delta": "Delta table", "iceberg": "Iceberg table"}
"""Kinds of tables of a lakehouse, which keep their history, with their names."""
PATHS = ("file", "delta")
"""Kinds whose target is a path; of a Delta table it may be a URL."""
MODE = "0?[4-7][0-7][0-7]"
"""The permissions of a file, which its owner can read."""
LENGTH = "([1-9][0-9]{0,5}) (minute|hour|day|week)s?"
"""The length of an epoch."""
UNITS = {"minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
"""Seconds of the units of an epoch."""
JUDGED_OF_PERSONS = ("k_anonymity", "distinct_l_diversity")
"""Those models of groups (``COHORT_MODELS``) that hold of a union also where one person is in several of them."""
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Names of columns that are the names of folders as they are. Readers pass over those that begin with . or _."""
FOLDER_ENDINGS = ("", ".parquet")
"""Of the folder."""


@dataclass(frozen=True, slots=True)
class Output(PolicyPart):
    """Where the release goes, e.g. ``Output.file("released.parquet")``.

    Attributes:
        kind: ``view``, ``live_view``, ``table`` or ``file``.
        target: a name in the database, or a path; a relative path in a policy becomes absolute.
    """

    built = 'sqlanon.Output.file("released.parquet")'
    alone = "file"
    order = ("owner", "mode", "partition_by", "epoch", "margin", "coarser_after", "hold", "record", "readers")

    kind: str
    target: str
    owner: str | None = entry(
        text(),
        about="The role of a server that owns the release. Of views and tables.",
        example="output: {view: anon.patients, owner: anonymizer}",
        page="warehouse.md",
        without="the role that publishes",
    )
    readers: tuple[str, ...] = entry(
        names("a role, or a list of roles", "This is not a list of roles.", "write [analyst].", or_name=True),
        (),
        about="The roles of a server that may read the release. Of views and tables.",
        example="output: {view: anon.patients, readers: [analyst]}",
        page="warehouse.md",
        without="nobody but the owner",
    )
    mode: str | None = entry(
        matching(
            MODE,
            "text of three or four octal digits, in quotes",
            "These are no permissions of a file.",
            'write them as chmod does, in quotes: mode: "0640"; the owner must be able to read.',
        ),
        about="The permissions of a file and its accompanying files, as chmod writes them.",
        example='output: {file: released.parquet, mode: "0640"}',
        page="policy.md#output-and-engine",
        without='those of the file that is replaced, or else "0600"',
    )
    epoch: str | None = entry(
        matching(
            LENGTH,
            "text, such as 1 hour",
            "This is no length of time.",
            "write a number and minutes, hours, days or weeks: epoch: 1 hour.",
        ),
        about="How long a live view stays as it is. Then it changes by groups.",
        unit="minutes, hours, days or weeks",
        example="output: {live_view: anon.patients, epoch: 1 hour, record: patient_id}",
        page="live-views.md#epochs",
        without="none: it shows each change at once",
    )
    margin: int | None = entry(
        whole(0),
        about="Newcomers of a live view with an epoch are at least so many more than a class must hold.",
        unit="records; with an entity, persons",
        example="output: {live_view: anon.patients, epoch: 1 hour, margin: 2, record: patient_id}",
        page="live-views.md#epochs",
        without="0",
    )
    coarser_after: int | None = entry(
        whole(2),
        about="Newcomers of a live view with an epoch come with every state of this number alone, in which nobody "
        "leaves; who are not enough at its levels come together at more general ones.",
        unit="states",
        example="output: {live_view: anon.patients, epoch: 1 day, coarser_after: 7, record: patient_id}",
        page="live-views.md#epochs",
        without="they come with any state, at the levels of the view",
    )
    hold: int | None = entry(
        whole(1),
        about="In how many states at most a live view with an epoch shows a row as it was. Then others of its group go "
        "with it.",
        unit="states",
        example="output: {live_view: anon.patients, epoch: 1 day, hold: 30, record: patient_id}",
        page="live-views.md#epochs",
        without="until enough of its group go",
    )
    record: str | None = entry(
        text(),
        about="The column of the source that is the key of its records. A live view with an epoch needs it.",
        example="output: {live_view: anon.patients, epoch: 1 hour, record: patient_id}",
        page="live-views.md#epochs",
    )
    partition_by: tuple[str, ...] = entry(
        names(
            "a quasi-identifier, or a list of them",
            "This is not a list of columns.",
            "write [region, year].",
            or_name=True,
        ),
        (),
        about="Quasi-identifiers by whose released values a file becomes a folder of Parquet files.",
        example="output: {file: released, partition_by: [region, zip]}",
        page="lakehouse.md#a-release-in-partitions",
        without="none: a release is one file",
    )

    @classmethod
    def file(cls, path: str | Path, *, mode: str | None = None, partition_by: Sequence[str] = ()) -> Output:
        """Return a file; its ending decides the format. With ``partition_by`` it is a folder of Parquet files."""
        return cls("file", path, mode=mode, partition_by=partition_by)  # type: ignore[arg-type]

    @classmethod
    def delta(cls, place: str | Path, *, partition_by: Sequence[str] = ()) -> Output:
        """Return a Delta table, by its folder or its URL in an object store."""
        return cls("delta", place, partition_by=partition_by)  # type: ignore[arg-type]

    @classmethod
    def iceberg(cls, name: str) -> Output:
        """Return an Iceberg table: ``catalog.namespace.table``, of a catalog of PyIceberg's configuration."""
        return cls("iceberg", name)

    @classmethod
    def table(cls, name: str, *, owner: str | None = None, readers: Sequence[str] = ()) -> Output:
        """Return a table of the source's database."""
        return cls("table", name, owner, readers)  # type: ignore[arg-type]

    @classmethod
    def view(cls, name: str, *, owner: str | None = None, readers: Sequence[str] = ()) -> Output:
        """Return a view over a table that holds the released rows."""
        return cls("view", name, owner, readers)  # type: ignore[arg-type]

    @classmethod
    def live_view(
        cls,
        name: str,
        *,
        owner: str | None = None,
        readers: Sequence[str] = (),
        epoch: str | None = None,
        margin: int | None = None,
        record: str | None = None,
        coarser_after: int | None = None,
        hold: int | None = None,
    ) -> Output:
        """Return a view that generalizes and counts the source on every read; with an ``epoch``, at its end only."""
        given = {"epoch": epoch, "margin": margin, "record": record, "coarser_after": coarser_after, "hold": hold}
        return cls("live_view", name, owner, readers, **given)  # type: ignore[arg-type]

    @property
    def cohorts(self) -> CohortsSpec:
        """How records come and go in a live view with an epoch: as in releases in cohorts."""
        return CohortsSpec(margin=self.margin or 0, coarser_after=self.coarser_after, hold=self.hold)


OF_EPOCHS = ("epoch", "margin", "coarser_after", "hold", "record")
OUTPUT_KEYS = (
    *TARGET_KEYS,
    *(find(keys_of(Output), name) for name in ("owner", "readers", "mode", "partition_by", *OF_EPOCHS)),
)


def seconds_of(epoch: str) -> int:
    """Return the length of an epoch, ``1 hour`` say, in seconds.

    Raises:
        ValueError: it is no such length.
    """
    found = re.fullmatch(LENGTH, epoch)
    if found is None:
        raise ValueError("no length of an epoch")
    return int(found[1]) * UNITS[found[2]]


def read_output(faults: Faults, value: Any) -> Output | None:
    """Return where the release of a document goes; a text means a file."""
    if value is None or isinstance(value, str):
        return None if value is None else Output.file(value)
    keys = faults.mapping("output", value, names_of(OUTPUT_KEYS))
    own = {name: keys.pop(name) for name in names_of(keys_of(Output)) if name in keys}
    if len(keys) != 1:
        hint = "write {file: release.parquet}, {table: …}, {view: …} or {live_view: …}."
        faults.add("output", "This does not name exactly one target.", hint)
        return None
    [(kind, target)] = keys.items()
    return of_keys(faults, "output", own, Output, kind=kind, target=target)


def check_output(faults: Faults, output: Output, extensions: Extensions) -> None:
    """Note the faults of the target of a release."""
    faults.choice("output", output.kind, TARGETS)
    if output.kind not in IN_DATABASE and (output.owner is not None or output.readers):
        message = f"A {LAKES.get(output.kind, 'file')} has neither owner nor readers."
        faults.add("output", message, "leave them out, or publish a view or a table.")
    if output.mode is not None and output.kind != "file":
        faults.add("output.mode", "Only a file has permissions.", "leave it out, or name roles: readers: [analyst].")
    check(faults, "output", output, beside=(*_check_epoch(faults, output), *_check_partitions(faults, output)))
    if faults.text(f"output.{output.kind}", output.target) and output.kind == "file" and not output.partition_by:
        ending = Path(output.target).suffix.lower()
        try:
            found = extensions.format_of(ending)
        except InputError as error:
            faults.add("output.file", error.message, error.hint)
            return
        if ending not in TARGET_ENDINGS and (found is None or not found[1].writes):
            known = ", ".join(TARGET_ENDINGS)
            faults.add("output.file", "The file's ending is not known.", f"choose one of {known} or .xml.")


def _check_epoch(faults: Faults, output: Output) -> tuple[str, ...]:
    """Note the faults of an epoch; return its keys where it has no place."""
    given = [name for name in OF_EPOCHS if getattr(output, name) is not None]
    if given and output.kind != "live_view":
        message = f"Only a live view has an epoch; a {output.kind} stays as it is until it is published anew."
        faults.add(f"output.{given[0]}", message, f"leave out {' and '.join(given)}, or publish a live_view.")
        return OF_EPOCHS
    if given and output.epoch is None:
        message = "Without an epoch a live view does not know what it showed before."
        faults.add(f"output.{given[0]}", message, "add epoch: 1 hour, say.")
    elif given and output.record is None:
        message = "A live view with an epoch must know a record again when its values change."
        faults.add("output.record", message, "name the key column of the source: record: admission_id.")
    return ()


def check_epoch_fits(faults: Faults, policy: Any) -> None:
    """Note what a policy asks for besides an epoch and cannot have with it."""
    output = policy.output
    if output is None or output.kind != "live_view" or output.epoch is None:
        return
    for column in policy.columns:
        if column.name == output.record and column.role not in ("keep", "drop"):
            message = f"The key of the records, {column.name!r}, has the role {column.role}."
            faults.add("output.record", message, "give it the role drop, or no role at all.")
    known = COHORT_MODELS if policy.entity is None else JUDGED_OF_PERSONS
    if not any(model.type == "k_anonymity" for model in policy.privacy):
        message = "With an epoch groups come and go, and nothing says how large a group must be."
        faults.add("privacy", message, "add {type: k_anonymity, k: 5}, say.")
    for key, model in policy.models_by_key:
        if model.type not in known:
            counted = " of persons" if policy.entity is not None else ""
            message = f"{model.type} cannot be judged{counted} of those alone who come or go at the end of an epoch."
            faults.add(f"{key}.type", message, f"choose {' or '.join(known)}, or leave out epoch.")


def _check_partitions(faults: Faults, output: Output) -> tuple[str, ...]:
    """Note the faults of the columns that partition a release; return the key where it has no place."""
    place, given = "output.partition_by", output.partition_by
    if not given or not isinstance(given, tuple):
        return ()
    if output.kind not in PATHS:
        faults.add(
            place, "Only a file is partitioned.", "leave it out, or publish a file: output: {file: released, …}."
        )
        return ("partition_by",)
    texts = [name for name in given if isinstance(name, str) and name]
    if len({name.casefold() for name in texts}) < len(texts):
        faults.add(place, "This names a column twice.", "name each column once.")
    for name in texts:
        if not PLAIN.fullmatch(name):
            hint = "take columns whose names are letters of ASCII, digits, - . and _ alone, and begin with one of the "
            hint += "first two."
            faults.add(place, f"The name {name!r} cannot stand in the name of a folder.", hint)
    of_files = output.kind == "file" and isinstance(output.target, str)
    if of_files and Path(output.target).suffix.lower() not in FOLDER_ENDINGS:
        hint = "name a folder without an ending: {file: released, partition_by: […]}."
        faults.add("output.file", "A partitioned release is a folder of Parquet files, and has another ending.", hint)
    return ()


def check_lake_fits(faults: Faults, policy: Any) -> None:
    """Note what a policy asks for besides a table of a lakehouse, which keeps what is replaced, and cannot have."""
    output = policy.output
    if output is None or output.kind not in LAKES:
        return
    kind = LAKES[output.kind]
    if output.kind == "iceberg" and not all([output.target.count(".") >= 2, *str(output.target).split(".")]):
        hint = "write catalog.namespace.table; the catalog is one of PyIceberg's configuration (.pyiceberg.yaml)."
        faults.add("output.iceberg", "This names no catalog, namespace and table.", hint)
    if policy.if_exists == "replace":
        message = f"A {kind} keeps its history: whoever reads it would have the release that is replaced, too."
        hint = "choose a new table for each release, and drop the old one; or release by periods, each of them once."
        faults.add("if_exists", message, hint)
    if policy.ledger is not None:
        faults.add("ledger", f"A ledger records no release to a {kind}.", "leave out ledger, or publish a file.")


def check_partitions_fit(faults: Faults, policy: Any, output: Output) -> None:
    """Note what partitions a release and is no text of a quasi-identifier, and what a policy cannot have besides."""
    if output.kind not in PATHS or not isinstance(output.partition_by, tuple) or not output.partition_by:
        return
    key = "output.partition_by"
    quasi = {column.name for column in policy.quasi_identifiers}
    numbers = {publish.name for publish in policy.publish if publish.instead is not None}
    for name in output.partition_by:
        if name not in quasi:
            message = f"The column {name!r} is no quasi-identifier. The name of a folder is a released value."
            faults.add(key, message, f"choose among {', '.join(map(repr, sorted(quasi))) or 'quasi-identifiers'}.")
        elif name in numbers:
            message = f"The column {name!r} is published as a number, and not as its generalized text."
            faults.add(key, message, "write the number beside it, as a list: publish: {…: [low, high]}.")
    if all(column.name in output.partition_by or column.role == "drop" for column in policy.columns):
        faults.add(key, "No column is left for the files in the folders.", "partition by fewer columns.")
    if policy.ledger is not None:
        faults.add(key, "A ledger records no partitioned release.", "leave out ledger, or partition_by.")
