"""Where records come from: options of CSV files and of other formats, patterns of files, sources that are joined."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any

from sqlanon.core.policy.csv_columns import READINGS, THOUSANDS, column_readings, one_of, same_sign, text_or_texts
from sqlanon.core.policy.extensions import NOTHING, Extensions
from sqlanon.core.policy.faults import Faults, named
from sqlanon.core.policy.parts import PATH, PolicyPart, check, entry, keys_of
from sqlanon.core.policy.paths import REPORT_ENDINGS, is_database
from sqlanon.errors import InputError
from sqlanon.parameters import NAMES, TEXT, choice, find, flag, names_of, option, parts, shaped, text, whole

CSV_TYPES = (
    "VARCHAR", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE",
    "UUID",
)  # fmt: skip
"""What the texts of a CSV column can be read as; DECIMAL may have a precision and a scale."""


def column_types(value: Any) -> str | None:
    """Return a hint unless ``value`` maps columns to types."""
    if not isinstance(value, Mapping):
        return "write {column: BIGINT}."
    for kind in value.values():
        base = (
            re.sub(r"^DECIMAL\([1-9][0-9]?(, ?[0-9]{1,2})?\)$", "DECIMAL", kind.upper())
            if isinstance(kind, str)
            else None
        )
        if base not in CSV_TYPES:
            return f"the types are {', '.join(CSV_TYPES)} and DECIMAL(18, 2), say."
    return None


_TYPES = {"type": "object", "additionalProperties": {"type": "string"}}
CSV_OPTIONS = (
    option(
        "delimiter",
        text(),
        about="The character between two fields.",
        example='";"',
        default='","; in .tsv a tab',
    ),
    option(
        "null",
        text_or_texts("[NA, '-']", empty=True),
        about="The unquoted text that is NULL; or a list of words that are, in quotes too, beside the empty field.",
        example='[NA, "-", "k.A."]',
        default="the empty field",
    ),
    option(
        "quote",
        text(),
        about="The character around a field that holds a delimiter or a line end.",
        example='"\'"',
        default='a double quote, "',
    ),
    option("encoding", text(), about="The encoding.", example="latin-1", default="utf-8"),
    option(
        "header",
        flag(),
        about="Whether the first line names the columns.",
        example="false",
        default="true",
    ),
    option(
        "skip",
        whole(0),
        about="Lines above the header that are left out.",
        unit="lines",
        example="3",
        default="0",
    ),
    option(
        "skip_last",
        whole(0),
        about="Records at the end that are left out, such as a line of sums; they may have another number of fields.",
        unit="records",
        example="1",
        default="0",
    ),
    option(
        "blank_columns",
        choice(keep="they stay", drop="they are left out"),
        about="What becomes of columns that have neither a name nor a text in any record.",
        example="drop",
        default="keep",
    ),
    option(
        "decimal",
        one_of(",", "."),
        about="The sign before decimals. A column is read so if all of its texts are such numbers.",
        example='","',
        default="none is looked for; a number has a point",
    ),
    option(
        "thousands",
        one_of(*THOUSANDS),
        about="The sign between groups of three digits, likewise. A space is any kind of space.",
        example='" "',
        default="none is looked for",
    ),
    option(
        "columns",
        shaped(READINGS, "mapping of columns to how they are read", column_readings),
        about="How single columns are written: null, decimal, thousands, unit, negative, dates, pivot, words.",
        example='{weight: {decimal: ",", unit: kg}, admitted: {dates: ["%d.%m.%Y", "%Y-%m-%d"]}}',
        default="their texts are taken as they stand",
    ),
    option(
        "types",
        shaped(_TYPES, "mapping of columns to types", column_types),
        about=f"Columns that are no texts: {', '.join(CSV_TYPES)}; a DECIMAL may have digits, as DECIMAL(18, 2).",
        example="{age: BIGINT}",
        default="texts; numbers or dates are looked for where a hierarchy or a model needs them",
    ),
    option(
        "date_format",
        text(),
        about="How dates are written.",
        example='"%d.%m.%Y"',
        default="found from all values",
    ),
    option(
        "timestamp_format",
        text(),
        about="How dates with a time of day are written.",
        example='"%d.%m.%Y %H:%M"',
        default="found from all values",
    ),
)


@dataclass(frozen=True, slots=True)
class Join(PolicyPart):
    """A further source, joined by key: each record of the sources before it meets at most one of its rows.

    Attributes:
        key: pairs of a column of the sources before it and the column of this source that is equal to it. One name, a
            list of names, and a mapping are taken too.
        formats: options of files that the engine does not read itself, by the name of their format.
    """

    built = 'sqlanon.Join("patient_id", "visits.csv")'

    key: tuple[tuple[str, str], ...] = entry(
        shaped(
            {"anyOf": [TEXT, {**NAMES, "minItems": 1}, {"type": "object", "additionalProperties": TEXT}]},
            "a column, a list of columns, or a mapping of columns to their names in the further source",
        ),
        MISSING,
        about="The columns by which records meet.",
        example="join: [{source: departments.csv, key: {department: name}}]",
    )
    source: str | None = entry(
        text(),
        about="The file or database of the further source.",
        example="join: [{source: departments.csv, key: department}]",
        without="the policy's own source",
        kept=PATH,
    )
    table: str | None = entry(
        text(),
        about="The relation of a database.",
        example="join: [{table: departments, key: department}]",
    )
    csv: Mapping[str, Any] = entry(
        parts("mapping", "mapping", CSV_OPTIONS),
        dict,
        about="How a CSV file is read, as the key csv of the policy.",
        example='join: [{source: departments.csv, csv: {delimiter: ";"}, key: department}]',
        page="policy.md#files",
    )
    formats: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        PolicyPart.__post_init__(self)
        given: Any = [self.key] if isinstance(self.key, str) else self.key
        pairs: Any = given.items() if isinstance(given, Mapping) else given if isinstance(given, list | tuple) else ()
        pairs = tuple(pair if isinstance(pair, tuple) else (pair, pair) for pair in pairs)
        object.__setattr__(self, "key", pairs)


JOIN_KEYS = tuple(find(keys_of(Join), name) for name in ("source", "table", "key", "csv"))
"""Keys of a joined source, beside those that hold the options of further file formats."""


def parse_options(keys: Mapping[str, Any], extensions: Extensions) -> dict[str, Any]:
    """Return the options of CSV files and of other formats, each under the name of its format."""
    given = {name: keys[name] for name in ("csv", *extensions.names("formats")) if keys.get(name) is not None}
    read = {name: _named_options(options) for name, options in given.items()}
    formats = {name: read[name] for name in extensions.names("formats") if name in read}
    return {"csv": read.get("csv", {}), "formats": formats}


def _named_options(options: Any) -> Any:
    """Return options with texts as keys, also those of single columns."""
    if not isinstance(options, Mapping):
        return options
    found = named(options)
    if isinstance(columns := found.get("columns"), Mapping):
        found["columns"] = {name: named(keys) if isinstance(keys, Mapping) else keys for name, keys in columns.items()}
    return found


def csv_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of CSV files of a source that no policy names, after the checks of the key ``csv``.

    Raises:
        PolicyError: one is not known, or cannot be used.
    """
    faults = Faults("The option csv")
    options = _check_csv(faults, "csv", _named_options(given))
    faults.finish()
    return options


def format_options(given: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the options of other formats, by their names, of a source that no policy names; raises PolicyError."""
    faults = Faults("The options of formats")
    _check_formats(faults, "", given, NOTHING)
    faults.finish()
    return {name: dict(options) for name, options in given.items() if options}


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


def check_sources(faults: Faults, policy: Any) -> None:
    """Note the faults of the sources and of their options."""
    _check_patterns(faults, policy)
    _check_options(faults, "", policy, policy.extensions)
    for number, join in enumerate(policy.join):
        key = f"join[{number}]"
        check(faults, key, join)
        if join.table is None and (join.source is None or (isinstance(join.source, str) and is_database(join.source))):
            faults.add(f"{key}.table", "A table of a database is not named.", "add the key table, or the key source.")
        _check_key(faults, f"{key}.key", join.key)
        _check_options(faults, f"{key}.", join, policy.extensions)


def _check_patterns(faults: Faults, policy: Any) -> None:
    """Note the faults of the patterns that stand in the place of a source."""
    for number, pattern in enumerate(policy.files if isinstance(policy.files, tuple) else ()):
        if isinstance(pattern, str) and is_database(pattern):
            faults.add(f"files[{number}]", "A database is no part of a source.", "name it as the source, with a table.")
    if policy.files and isinstance(policy.files, tuple) and (policy.source is not None or policy.table is not None):
        faults.add("files", "There is another source beside it.", "keep either files, or source (and table).")


def _check_options(faults: Faults, prefix: str, source: Any, extensions: Extensions) -> None:
    """Note the faults of the options of a source's format."""
    _check_csv(faults, f"{prefix}csv", source.csv)
    _check_formats(faults, prefix, source.formats, extensions)


def _check_csv(faults: Faults, key: str, given: Any) -> dict[str, Any]:
    options = faults.parameters(key, given, CSV_OPTIONS, owner="csv")
    if same_sign(options):
        faults.add(f"{key}.decimal", "Decimals and thousands have the same sign.", 'name another: decimal: ",", say.')
    return options


def _check_formats(faults: Faults, prefix: str, formats: Mapping[str, Any], extensions: Extensions) -> None:
    for name, options in formats.items():
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


def check_report(faults: Faults, report: object) -> None:
    """Note a fault unless the path of the report for people has the ending of a form."""
    if isinstance(report, str) and report and Path(report).suffix.lower() not in REPORT_ENDINGS:
        faults.add("report", "The file's ending is not known.", f"choose one of {', '.join(REPORT_ENDINGS)}.")
