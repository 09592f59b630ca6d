"""A project of ARX as a policy: its document, the files beside it, and notes of what is not the same.

Everything is written into a private folder and read back there before it is put in place: the files beside the policy
first, and the policy last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.core.disk.modes import settle_mode
from sqlanon.core.disk.writing import whole_file
from sqlanon.core.policy.policy import Policy
from sqlanon.core.policy.schema_line import schema_line
from sqlanon.core.policy.writing import canonical
from sqlanon.core.policy.writing import document as keys_of
from sqlanon.errors import InputError, TargetError
from sqlanon.interop.arx.columns import Columns, columns_of, with_weights
from sqlanon.interop.arx.criteria import Models, models_of
from sqlanon.interop.arx.notes import Notes
from sqlanon.interop.arx.project_opening import ProjectFile, csv_text
from sqlanon.interop.arx.project_reading import Project, data_rows, read_project
from sqlanon.interop.arx.quality import quality_of

ENDING = ".deid"
MEMBER = "research_subset"
"""The column of the data that says which records belong to the research subset."""
COMMENTED = (".yaml", ".yml")
"""Targets that hold the notes as comments."""
DELIMITER = ";"
"""Of the files that are written."""
UNUSUAL = re.compile(r"[^\w.-]+", re.ASCII)
RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?|\.*")
"""Names that are none on some system."""
LONGEST = 80


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of an import: the notes, by kind, and the files that stand beside the policy."""

    notes: Notes
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    document: dict[str, Any]
    files: Mapping[str, str]
    notes: Notes
    comment: str


Writer = Callable[[Mapping[str, Any]], bytes]
"""What writes a document in the format of the target."""


def import_project(
    source: Path, target: Path, write: Writer, *, inline: bool = False, replace: bool = False, data: bool = False
) -> Imported:
    """Write the policy of a project, its hierarchies as CSV beside it, and its records too when ``data`` says so.

    Raises:
        InputError: the project cannot be read, or none of its privacy models can be expressed.
        PolicyError: its settings contradict each other.
        TargetError: a file is there already, or cannot be written.
    """
    with ProjectFile(source) as file:
        draft = _draft(file, target, inline=inline, data=data)
    _refuse_present(target, draft.files, replace)
    with whole_file(target) as partial:
        folder = partial.parent
        for name, text in draft.files.items():
            (folder / name).parent.mkdir(mode=0o700, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8", newline="")
        head = f"{schema_line(target.absolute().parent)}\n{draft.comment}" if target.suffix.lower() in COMMENTED else ""
        partial.write_bytes(head.encode() + write(draft.document))
        _check(Policy.from_dict(draft.document, base_directory=folder), Policy.from_file(partial))
        for name in draft.files:
            place = target.absolute().parent / name
            place.parent.mkdir(mode=0o700, exist_ok=True)
            settle_mode(folder / name, place, None)
            os.replace(folder / name, place)
    return Imported(draft.notes, tuple(draft.files))


def _check(meant: Policy, written: Policy) -> None:
    """Raise InputError if what was written is not what was meant."""
    if canonical(keys_of(meant, portable=True)) != canonical(keys_of(written, portable=True)):
        raise InputError(
            "The policy would not be the same once it is written.", hint="convert to another format, and report this."
        )


def _refuse_present(target: Path, files: Mapping[str, str], replace: bool) -> None:
    folder = target.absolute().parent
    present = [name for name in (target.name, *files) if os.path.lexists(folder / name)]
    if present and not replace:
        others = f"; so do {len(present) - 1} other files that would be written" if len(present) > 1 else ""
        raise TargetError(
            f"The target {present[0]!r} exists{others}.",
            hint="choose another name, or say --replace (in Python: replace=True).",
        )


def _draft(file: ProjectFile, target: Path, *, inline: bool, data: bool) -> _Draft:
    notes = Notes()
    project = read_project(file)
    models = models_of(project, notes)
    _note_unread(project, notes)
    subset = _subset_column(project, models, notes)
    columns = columns_of(file, project, models, notes)
    if not models.any:
        lost = ", ".join(criterion.text for criterion in project.criteria) or "it has none"
        raise InputError(
            f"No privacy model of the project {file.name!r} can be expressed: {lost}.",
            hint="give the project a model that sqlanon has (docs/policy.md), k-anonymity say, and convert it again.",
        )
    quality = quality_of(project, columns.levels, notes)
    with_weights(columns, quality.weights)
    _note_rest(project, columns, notes)
    files: dict[str, str] = {}
    _add_hierarchies(columns, target.stem, files, inline=inline)
    document = _document(project, models, columns, quality.keys)
    if subset is not None:
        document["columns"][subset] = {"role": "drop"}
        document["privacy"].append({"type": "delta_presence", **(models.subset or {}), "subset": {"column": subset}})
    if data:
        _add_data(file, project, columns, subset, target.stem, files, document)
    else:
        _note_source(columns, subset, notes)
    for remark in file.remarks:
        notes.note(remark)
    comment = "".join(f"{line}\n" for line in notes.comment(f"The ARX project {file.name} as a policy of sqlanon."))
    return _Draft(document, files, notes, comment)


def _note_unread(project: Project, notes: Notes) -> None:
    if project.unread is not None:
        notes.note(
            f"Serialized configuration (input/config.dat): {project.unread}. The XML beside it was read; it does "
            "not say "
            "the aggregate of the quality model, the research subset, or populations: compare the policy with what ARX "
            "shows."
        )


def _subset_column(project: Project, models: Models, notes: Notes) -> str | None:
    """Return the name of the column that marks the research subset, if the policy needs one."""
    if models.subset is None:
        return None
    mapped = any(model.get("population") == "source" for model in models.privacy)
    if project.subset is not None and len(project.subset) == project.records and not models.presence and not mapped:
        return None  # all that there is
    if project.subset is None:
        notes.unprotected(
            "The research subset could not be read: without it the policy would publish every record. Mark its records "
            f"in a boolean column, {MEMBER}, which the policy names."
        )
    taken = {attribute.name.casefold() for attribute in project.attributes}
    name = MEMBER
    while name in taken:
        name += "_"
    return name


def _note_rest(project: Project, columns: Columns, notes: Notes) -> None:
    """Note the settings of the search and of the output that are not the same here."""
    if project.limit:
        notes.different(
            "Suppressed records: ARX leaves them in its output, their quasi-identifiers as *, beside "
            "their other attributes"
            + ("" if len(project.suppressed_types) < 3 else " suppressed too")
            + "; with suppressed: redact every column of them holds *."
            if not columns.publish
            else "Suppressed records: ARX leaves them in its output; beside published means they are dropped here."
        )
    if project.suppression_text != "*":
        notes.left_out("The text of suppressed values: sqlanon writes *. Replace it in the release.")
    if project.assumes_monotonicity:
        notes.different(
            "Practical monotonicity: ARX assumed it and may have missed the optimum; sqlanon assumes nothing, and "
            "proves "
            "its optimum."
        )
    if project.heuristic:
        notes.different(
            "Heuristic search: ARX stopped early; sqlanon looks for the optimum. Say search: {time_limit: …}."
        )
    computed = sorted(
        name for name, builder in project.builders.items() if re.search("IntervalBased|RedactionBased", builder)
    )
    if computed:
        notes.different(
            f"Hierarchies of {', '.join(map(repr, computed))}: where ARX keeps how they were built, its Loss measures "
            "intervals by their bounds and redacted texts by their alphabet; sqlanon counts the listed values "
            "below them."
        )


def _add_hierarchies(columns: Columns, stem: str, files: dict[str, str], *, inline: bool) -> None:
    """Put hierarchies into the columns, as files beside the policy or as levels."""
    used: set[str] = set()
    for name, rows in columns.hierarchies.items():
        if inline:
            levels = {row[0] or None: row[1:] for row in rows}
            columns.keys[name]["hierarchy"] = {"levels": levels}
            continue
        path = f"{stem}-hierarchies/{_file_name(name, used)}.csv"
        files[path] = csv_text(rows, hierarchy=True)
        columns.keys[name]["hierarchy"] = {"file": path, "delimiter": DELIMITER, "header": False}


def _file_name(name: str, used: set[str]) -> str:
    """Return a name that is one on every system, and no other's."""
    plain = UNUSUAL.sub("_", name)[:LONGEST]
    plain = f"_{plain}" if RESERVED.fullmatch(plain) else plain
    found, number = plain, 2
    while found.casefold() in used:
        found, number = f"{plain}_{number}", number + 1
    used.add(found.casefold())
    return found


def _document(project: Project, models: Models, columns: Columns, quality: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "columns": columns.keys,
        "privacy": list(models.privacy),
        "suppression_limit": str(project.limit),
        "nulls": "extended",
        "quality": quality,
        "suppressed": "drop" if columns.publish or not project.limit else "redact",
    }
    return document | ({"publish": columns.publish} if columns.publish else {})


def _note_source(columns: Columns, subset: str | None, notes: Notes) -> None:
    """Note what the table must be like that the policy is to be run on."""
    marked = f" It needs a boolean column {subset}, true for the research subset." if subset is not None else ""
    typed = ", ".join(f"{name!r} ({type_name})" for name, type_name in columns.types.items())
    notes.note(
        "Source: the policy names none, because the project's records stay where they are. Say source: and csv: "
        f"{{delimiter: …}} of the table that ARX read, or convert with --data.{marked}"
        + (f" These columns need types: {typed}." if typed else "")
    )


def _add_data(
    file: ProjectFile,
    project: Project,
    columns: Columns,
    subset: str | None,
    stem: str,
    files: dict[str, str],
    document: dict[str, Any],
) -> None:
    """Put the records of the project beside the policy, with a column that marks the research subset, if any."""
    rows = data_rows(file, project)
    if rows[0] != [attribute.name for attribute in project.attributes]:
        raise file.refused("its records have other columns than its definition", "save it again with ARX.")
    types = dict(columns.types)
    if subset is not None and project.subset is not None:
        if project.subset and project.subset[-1] >= len(rows) - 1:
            raise file.refused("its research subset has records that are not there", "save it again with ARX.")
        members = set(project.subset)
        rows = [
            [*row, subset if number < 0 else str(number in members).lower()]
            for number, row in enumerate(rows, start=-1)
        ]
        types[subset] = "BOOLEAN"
    name = f"{stem}-data.csv"
    files[name] = csv_text(rows)
    options: dict[str, Any] = {"delimiter": DELIMITER}
    if types:
        options["types"] = types
    if columns.date_format:
        options["date_format"] = columns.date_format
    given = dict(document)
    document.clear()
    document.update({"source": name, "csv": options, **given})
