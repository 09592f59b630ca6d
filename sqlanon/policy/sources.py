"""What a policy says about where records come from and where they go: options of formats, joins, output, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlanon.errors import InputError
from sqlanon.parameters import Parameter, flag, text
from sqlanon.policy import Join, Output
from sqlanon.policy.checks import check_key
from sqlanon.policy.extensions import Extensions
from sqlanon.policy.faults import Faults
from sqlanon.policy.paths import REPORT_ENDINGS, TARGET_ENDINGS, is_database

CSV_OPTIONS = (
    Parameter("delimiter", text(), required=False),
    Parameter("null", text(empty=True), required=False),
    Parameter("quote", text(), required=False),
    Parameter("encoding", text(), required=False),
    Parameter("header", flag(), required=False),
)


def parse_csv(faults: Faults, key: str, value: Any) -> dict[str, Any]:
    """The options of a CSV file."""
    return faults.parameters(key, value, CSV_OPTIONS, owner="csv")


def parse_formats(
    faults: Faults, key: str, keys: Mapping[str, Any], extensions: Extensions
) -> dict[str, dict[str, Any]]:
    """The options of other file formats, each under the name of its format."""
    made = {}
    for name in extensions.names("formats"):
        if keys.get(name) is None:
            continue
        try:
            known = extensions.format(name).options
        except InputError as error:
            faults.add(f"{key}{name}", error.message, error.hint)
            continue
        made[name] = faults.parameters(f"{key}{name}", keys[name], known, owner=name)
    return made


def parse_join(faults: Faults, value: Any, extensions: Extensions) -> tuple[Join, ...]:
    """Further sources that are joined by key, in order."""
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        faults.add("join", "This is not a list of sources.", "write [{source: visits.csv, key: patient_id}].")
        return ()
    joins = []
    for number, item in enumerate(value):
        where = f"join[{number}]"
        keys = faults.mapping(where, item, ("source", "table", "key", "csv", *extensions.names("formats")))
        for name in ("source", "table"):
            if keys.get(name) is not None:
                faults.text(f"{where}.{name}", keys[name])
        source, table = keys.get("source"), keys.get("table")
        database = source is None or (isinstance(source, str) and is_database(source))
        if database and table is None:
            faults.add(f"{where}.table", "A table of a database is not named.", "add the key table, or the key source.")
        joins.append(
            Join(
                key=_key_columns(faults, f"{where}.key", keys.get("key")),
                source=source,
                table=table,
                csv=parse_csv(faults, f"{where}.csv", keys.get("csv")),
                formats=parse_formats(faults, f"{where}.", keys, extensions),
            )
        )
    return tuple(joins)


def _key_columns(faults: Faults, key: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of a column of what stands before and the column of this source that is equal to it."""
    listed = [value] if isinstance(value, str) else value
    if isinstance(listed, Mapping):
        made = tuple(listed.items())
    else:
        made = tuple((name, name) for name in listed) if isinstance(listed, list | tuple) else ()
    return made if check_key(faults, key, made) else ()


def parse_output(faults: Faults, value: Any, base_directory: Path, extensions: Extensions) -> Output | None:
    """Where the release goes."""
    kinds = ("view", "live_view", "table", "file")
    if value is None:
        return None
    keys = faults.mapping("output", value, (*kinds, "owner", "readers"))
    owner, readers = keys.pop("owner", None), keys.pop("readers", None)
    if len(keys) != 1:
        faults.add(
            "output",
            "This does not name exactly one target.",
            "write {file: release.parquet}, {table: …}, {view: …} or {live_view: …}.",
        )
        return None
    [(kind, target)] = keys.items()
    roles = _roles(faults, kind, owner, readers)
    if not faults.text(f"output.{kind}", target):
        return None
    if kind == "file":
        ending = Path(target).suffix.lower()
        try:
            found = extensions.format_of(ending)
        except InputError as error:
            faults.add("output.file", error.message, error.hint)
            return None
        if ending not in TARGET_ENDINGS and (found is None or not found[1].writes):
            known = ", ".join(TARGET_ENDINGS)
            faults.add("output.file", "The file's ending is not known.", f"choose one of {known} or .xml.")
        target = str((base_directory / target).absolute())
    return Output(kind, target, *roles)


def _roles(faults: Faults, kind: str, owner: Any, readers: Any) -> tuple[str | None, tuple[str, ...]]:
    """The role that owns a release on a server, and those that may read it."""
    given = [readers] if isinstance(readers, str) else readers or []
    if kind == "file" and (owner is not None or given):
        faults.add("output", "A file has neither owner nor readers.", "leave them out, or publish a view or a table.")
    if owner is not None and not faults.text("output.owner", owner):
        return None, ()
    if not isinstance(given, list | tuple):
        faults.add("output.readers", "This is not a list of roles.", "write [analyst].")
        return owner, ()
    named = [faults.text(f"output.readers[{number}]", reader) for number, reader in enumerate(given)]
    return owner, tuple(given) if all(named) else ()


def parse_report(faults: Faults, value: Any, base_directory: Path) -> str | None:
    """Where the report for people goes."""
    if value is None or not faults.text("report", value):
        return None
    if Path(value).suffix.lower() not in REPORT_ENDINGS:
        faults.add("report", "The file's ending is not known.", f"choose one of {', '.join(REPORT_ENDINGS)}.")
    return str((base_directory / value).absolute())
