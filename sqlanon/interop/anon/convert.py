"""Converting between policies (YAML, JSON) and ANON definitions, without a change of meaning, and from ARX projects.

Every conversion passes through the definition: it spells texts, numbers and NULL out, and its schema checks them. The
result is read back and compared before it gets its name.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml

from sqlanon.core.disk.writing import whole_file
from sqlanon.core.hierarchies.readers import check_rows, read_hierarchy
from sqlanon.core.hierarchies.specs import FileHierarchy
from sqlanon.core.policy.documents import read_document
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.paths import is_url, names_records, same_file
from sqlanon.core.policy.policy import Policy
from sqlanon.core.policy.schema_line import COMMENT, schema_line
from sqlanon.core.policy.writing import document as keys_of
from sqlanon.errors import Fault, InputError, PolicyError, TargetError
from sqlanon.interop.anon.definition_reading import not_kept, parse_definition
from sqlanon.interop.anon.definition_values import binary, with_decimals
from sqlanon.interop.anon.definition_writing import write_definition
from sqlanon.interop.arx.importing import ENDING, Imported, import_project

YAML = (".yaml", ".yml")
READ = (".xml", ".yaml", ".yml", ".json", ".toml")
AMBIGUOUS = re.compile(r"(?is)[-+.]?[0-9].*|[-+]?\.(inf|nan)|y|n|yes|no|on|off|true|false|null|~|")
"""Texts that some reader of YAML takes for something else."""
UNPRINTABLE = re.compile("[\t\n\r\x7f-\x9f\u2028\u2029\ufeff]")
"""What PyYAML would fold, or take for a line end, where it does not escape it."""


def convert(
    source: Path,
    target: Path,
    *,
    inline: bool = False,
    replace: bool = False,
    data: bool = False,
    extensions: Extensions = NOTHING,
) -> list[str]:
    """Write the policy, definition or ARX project ``source`` as ``target``; the ending of each determines its format.

    Relative paths are rewritten when the target lies in another folder, so that they lead to the same files.

    Args:
        inline: put the hierarchies that are CSV files into the target.
        replace: the target may be there already.
        data: write the records of an ARX project beside the target, too (``sqlanon.interop.arx``).

    Returns:
        Remarks for the user: what was left out or changed.

    Raises:
        InputError: an ending is not known, or the source cannot be read.
        PolicyError: the source has faults, or holds what the target cannot.
        HierarchyError: a hierarchy file that is to be put in has faults.
        TargetError: the target is there, or cannot be written.
    """
    if source.suffix.lower() == ENDING:
        return convert_project(source, target, inline=inline, replace=replace, data=data).notes.texts
    write = _writer(source, target)
    if data:
        raise InputError(
            "Only ARX projects hold data.", hint=f"give a file that ends in {ENDING}, or leave out --data."
        )
    if target.exists() and not replace:
        raise TargetError(
            f"The target {target.name!r} exists.",
            hint="choose another name, or say --replace (in Python: replace=True).",
        )
    document = read_document(source)
    before = Policy.from_dict(document, base_directory=source.absolute().parent, extensions=extensions)
    before = replaced(before, file=source.absolute())
    _refuse_used(target, before)
    remarks = _left_out(source)
    if inline:
        document = _inlined(document, before, remarks)
    document, moved = relocated(document, source.absolute().parent, target.absolute().parent)
    if moved:
        remarks.append(f"Relative paths that were rewritten, since the target lies in another folder: {moved}.")
    written = write(write_definition(document), remarks)
    if target.suffix.lower() in YAML:
        written = f"{schema_line(target.absolute().parent)}\n".encode() + written
    _publish(written, target, lambda path: _check(path, target, None if inline else before, extensions))
    return remarks


def convert_project(
    source: Path, target: Path, *, inline: bool = False, replace: bool = False, data: bool = False
) -> Imported:
    """Write an ARX project as a policy with its files beside it (``convert``); return what was written, and the notes.

    Raises:
        InputError: the project cannot be read, or nothing of its privacy models can be expressed.
        PolicyError: its settings contradict each other.
        TargetError: a target is there, or cannot be written.
    """
    put = _writer(source, target)
    rounded: list[str] = []
    imported = import_project(
        source,
        target,
        lambda document: put(write_definition(document), rounded),
        inline=inline,
        replace=replace,
        data=data,
    )
    for remark in rounded:
        imported.notes.note(remark)
    return imported


def _refuse_used(target: Path, policy: Policy) -> None:
    """Raise TargetError if a target is what is converted or a file that it names."""
    named = [policy.output.target if policy.output is not None else None, policy.report]
    used = [*policy.read_files, *(Path(name) for name in named if name is not None)]
    if any(same_file(target, path) for path in used):
        raise TargetError(
            f"The target {target.name!r} is what is converted, or a file that it names.", hint="choose another name."
        )


def _writer(source: Path, target: Path) -> Callable[[bytes, list[str]], bytes]:
    ending = target.suffix.lower()
    if source.suffix.lower() == ".ahs":
        raise InputError(
            f"{source.name!r} says how ARX builds a hierarchy, as a Java object, which is not read.",
            hint="export the hierarchy as CSV in ARX, and name it in a policy: {file: …}; projects (.deid) are read.",
        )
    if source.suffix.lower() not in (*READ, ENDING) or ending not in (*WRITERS, ".toml"):
        raise InputError(
            f"{source.name!r} cannot be converted to {target.name!r}: an ending is not known.",
            hint=f"a definition ends in .xml, a policy in {', '.join(READ[1:])}, an ARX project in {ENDING}.",
        )
    if ending == ".toml":
        raise InputError("A policy cannot be written as TOML.", hint="write YAML (.yaml) or JSON (.json).")
    return WRITERS[ending]


def _check(path: Path, target: Path, before: Policy | None, extensions: Extensions) -> None:
    """Read what was written back; it must equal the source, but for digits that the format does not hold."""
    after = Policy.from_dict(read_document(path), base_directory=target.absolute().parent, extensions=extensions)
    if before is not None and _comparable(after) != _comparable(before):
        raise InputError(
            "The policy would not be the same after conversion.", hint="keep it as it is, and report this, please."
        )


def _comparable(policy: Policy) -> Any:
    """Return the policy without its folders, all numbers as floats."""
    return with_decimals(keys_of(policy, portable=True), float)


# -- what is left out or put in ---------------------------------------------------------------------------------------


def _left_out(source: Path) -> list[str]:
    ending = source.suffix.lower()
    if ending == ".xml":
        return not_kept(source)
    lines = source.read_text(encoding="utf-8").splitlines() if ending != ".json" else []
    comments = (line for line in lines if line.lstrip().startswith("#") and not line.startswith(COMMENT))
    return ["Comments are left out."] if any(comments) else []


def _inlined(document: Mapping[str, Any], policy: Policy, remarks: list[str]) -> dict[str, Any]:
    """Return the document with the rows of its hierarchy files."""
    columns = dict(document["columns"])
    for column in policy.columns:
        spec = column.hierarchy
        if isinstance(spec, FileHierarchy):
            rows = check_rows(read_hierarchy(spec), column.name).rows
            given = columns[column.name]["hierarchy"]
            kept = {key: given[key] for key in ("information_loss",) if isinstance(given, Mapping) and key in given}
            hierarchy = {"levels": {row[0]: list(row[1:]) for row in rows}, **kept}
            columns[column.name] = {**columns[column.name], "hierarchy": hierarchy}
            remarks.append(f"The hierarchy of {column.name!r} was put in: the target holds its {len(rows)} values.")
    return {**document, "columns": columns}


# -- writing ----------------------------------------------------------------------------------------------------------


class _Dumper(yaml.SafeDumper):
    """YAML without anchors, with quotes wherever some reader could see another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if UNPRINTABLE.search(text) else "'" if AMBIGUOUS.fullmatch(text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)


def _as_xml(data: bytes, remarks: list[str]) -> bytes:
    return data


def _as_yaml(data: bytes, remarks: list[str]) -> bytes:
    document = _with_floats(parse_definition(data, "definition"), remarks)
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, encoding="utf-8", width=120)


def _as_json(data: bytes, remarks: list[str]) -> bytes:
    document = _with_floats(parse_definition(data, "definition"), remarks)
    faults = [
        Fault(f"columns.{name}.hierarchy.levels", "JSON cannot hold NULL as a value that has levels.", "write YAML.")
        for name, column in document["columns"].items()
        if None in column.get("hierarchy", {}).get("levels", {})
    ]
    if faults:
        raise PolicyError(faults)
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"


def _with_floats(document: dict[str, Any], remarks: list[str]) -> Any:
    """Return a document with floats for decimals: YAML and JSON have binary fractions only."""

    def rounded(number: Decimal) -> float:
        remarks.append("A number with more digits than the target holds was rounded.")
        return float(number)

    return with_decimals(binary(document), rounded)


WRITERS: Mapping[str, Callable[[bytes, list[str]], bytes]] = {
    ".xml": _as_xml,
    ".yaml": _as_yaml,
    ".yml": _as_yaml,
    ".json": _as_json,
}


def _publish(data: bytes, target: Path, check: Callable[[Path], None]) -> None:
    """Write in a private folder, check, put in place; whatever happens, only the target stays."""
    with whole_file(target) as partial:
        partial.write_bytes(data)
        check(partial)


def relocated(document: Mapping[str, Any], old: Path, new: Path) -> tuple[Mapping[str, Any], int]:
    """Return the document for the folder ``new``, and the number of paths that were rewritten.

    Paths are those of sources, hierarchies, subsets, populations, key, output and report; absolute ones, URLs, and
    those that begin with a variable of the environment stay.
    Options of file formats stay too: what they mean is the format's own matter.
    """
    if os.path.realpath(old) == os.path.realpath(new):
        return document, 0
    move = _Move(old, new)
    changes: Mapping[str, Callable[[Any], Any]] = {
        "source": move.path,
        "files": lambda files: [move.path(item) for item in files] if isinstance(files, list) else move.path(files),
        "report": move.path,
        "output": move.file,
        "key": move.file,
        "join": lambda joins: [
            {key: move.path(x) if key == "source" else x for key, x in join.items()} for join in joins
        ],
        "privacy": move.models,
        "columns": lambda columns: {name: move.column(column) for name, column in columns.items()},
    }
    moved = {key: changes[key](item) if key in changes and item is not None else item for key, item in document.items()}
    return moved, len(move.rewritten)


@dataclass(frozen=True, slots=True)
class _Move:
    """From one folder to another; ``rewritten`` collects the paths that changed."""

    old: Path
    new: Path
    rewritten: list[str] = field(default_factory=list)

    def path(self, value: Any) -> Any:
        """Return a path that leads from the new folder to where it led from the old one.

        Folders are resolved, since ``..`` of a link to a folder is not where the link stands; the file is not.
        """
        if not isinstance(value, str) or is_url(value) or Path(value).is_absolute() or value.startswith("${"):
            return value
        self.rewritten.append(value)
        file = Path(os.path.realpath(self.old / Path(value).parent), Path(value).name)
        try:
            return Path(os.path.relpath(file, os.path.realpath(self.new))).as_posix()
        except ValueError:  # on another drive
            return str(file)

    def file(self, value: Any) -> Any:
        """Return a mapping that may name a file; a text names one itself."""
        if isinstance(value, Mapping):
            return {key: self.path(item) if key == "file" else item for key, item in value.items()}
        return self.path(value)

    def column(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return a column's hierarchy and the subsets of its models."""
        hierarchy = {"hierarchy": self.file(value["hierarchy"])} if "hierarchy" in value else {}
        models = {"models": self.models(value["models"])} if value.get("models") is not None else {}
        return {**value, **hierarchy, **models}

    def models(self, value: Any) -> list[Any]:
        """Return models, with the subsets and populations that they name."""
        return [
            {key: self.file(item) if names_records(key, item) else item for key, item in model.items()}
            for model in value
        ]
