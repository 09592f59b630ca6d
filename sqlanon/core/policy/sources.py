"""Where records come from and where they go, in a policy: options of formats, joins, output, report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlanon.core.policy.extensions import Extensions
from sqlanon.core.policy.facts import Join, PolicyFacts
from sqlanon.core.policy.faults import Faults, named
from sqlanon.core.policy.keys.csv import CSV_OPTIONS
from sqlanon.core.policy.keys.policy import JOIN_KEYS, TOP_KEYS
from sqlanon.core.policy.paths import REPORT_ENDINGS, is_database
from sqlanon.errors import InputError
from sqlanon.parameters import find, names_of


def parse_options(keys: Mapping[str, Any], extensions: Extensions) -> dict[str, Any]:
    """Return the options of CSV files and of other formats, each under the name of its format."""
    given = {name: keys[name] for name in ("csv", *extensions.names("formats")) if keys.get(name) is not None}
    read = {name: named(options) if isinstance(options, Mapping) else options for name, options in given.items()}
    formats = {name: read[name] for name in extensions.names("formats") if name in read}
    return {"csv": read.get("csv", {}), "formats": formats}


def csv_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of CSV files of a source that no policy names, after the checks of the key ``csv``.

    Raises:
        PolicyError: one is not known, or cannot be used.
    """
    faults = Faults("The option csv")
    options = faults.parameters("csv", given, CSV_OPTIONS, owner="csv")
    faults.finish()
    return options


def parse_join(faults: Faults, value: Any, extensions: Extensions) -> tuple[Join, ...]:
    """Return further sources that are joined by key, in order."""
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        faults.add("join", "This is not a list of sources.", "write [{source: visits.csv, key: patient_id}].")
        return ()
    joins = []
    for number, item in enumerate(value):
        if isinstance(item, Join):
            joins.append(item)
            continue
        keys = faults.mapping(f"join[{number}]", item, (*names_of(JOIN_KEYS), *extensions.names("formats")))
        options = parse_options(keys, extensions)
        joins.append(Join(keys.get("key", ()), keys.get("source"), keys.get("table"), **options))
    return tuple(joins)


def check_sources(faults: Faults, policy: PolicyFacts) -> None:
    """Note the faults of the sources and of their options."""
    for key in ("source", "table"):
        faults.value(key, getattr(policy, key), find(TOP_KEYS, key))
    _check_patterns(faults, policy)
    _check_options(faults, "", policy, policy.extensions)
    for number, join in enumerate(policy.join):
        key = f"join[{number}]"
        for name in ("source", "table"):
            faults.value(f"{key}.{name}", getattr(join, name), find(JOIN_KEYS, name))
        if join.table is None and (join.source is None or (isinstance(join.source, str) and is_database(join.source))):
            faults.add(f"{key}.table", "A table of a database is not named.", "add the key table, or the key source.")
        _check_key(faults, f"{key}.key", join.key)
        _check_options(faults, f"{key}.", join, policy.extensions)


def _check_patterns(faults: Faults, policy: PolicyFacts) -> None:
    """Note the faults of the patterns that stand in the place of a source."""
    if not isinstance(policy.files, tuple):
        faults.add("files", "This is no list of patterns.", "write files: visits/*.csv, or a list.")
        return
    for number, pattern in enumerate(policy.files):
        if faults.text(f"files[{number}]", pattern) and is_database(pattern):
            faults.add(f"files[{number}]", "A database is no part of a source.", "name it as the source, with a table.")
    if policy.files and (policy.source is not None or policy.table is not None):
        faults.add("files", "There is another source beside it.", "keep either files, or source (and table).")


def _check_options(faults: Faults, prefix: str, source: PolicyFacts | Join, extensions: Extensions) -> None:
    """Note the faults of the options of a source's format."""
    faults.parameters(f"{prefix}csv", source.csv, CSV_OPTIONS, owner="csv")
    for name, options in source.formats.items():
        try:
            known = extensions.format(name).options
        except KeyError:
            faults.choice(f"{prefix}{name}", name, extensions.names("formats"))
        except InputError as error:
            faults.add(f"{prefix}{name}", error.message, error.hint)
        else:
            faults.parameters(f"{prefix}{name}", options, known, owner=name)


def _check_key(faults: Faults, key: str, pairs: Sequence[tuple[object, ...]]) -> None:
    """Note a fault unless ``pairs`` name the columns of a key, each of them once."""
    whole = all(len(pair) == 2 and all(isinstance(name, str) and name for name in pair) for pair in pairs)
    if not pairs or not whole:
        faults.add(key, "This does not name key columns.", "write key: column, a list, or {column: its name here}.")
    elif any(len({str(name).casefold() for name in side}) < len(side) for side in zip(*pairs, strict=True)):
        faults.add(key, "This names a key column twice.", "name each column once.")


def check_report(faults: Faults, report: str) -> None:
    """Note the faults of the path of the report for people."""
    if faults.text("report", report) and Path(report).suffix.lower() not in REPORT_ENDINGS:
        faults.add("report", "The file's ending is not known.", f"choose one of {', '.join(REPORT_ENDINGS)}.")
