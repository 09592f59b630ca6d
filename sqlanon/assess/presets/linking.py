"""A draft for the linked tables of a schema: persons, with the last of their visits and diagnoses (``tables:``).

Rows hang on the person by the person's number, because other links (of a diagnosis to its visit) are often missing. How
many rows a person has is counted here, since no hierarchy hides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlglot import exp

from sqlanon.assess.presets.facts import Preset, plain_name, presets
from sqlanon.assess.presets.following import column_of
from sqlanon.assess.profiling.draft_text import DECIDE, comment, flow, scalar, source_lines
from sqlanon.assess.profiling.drafted_hierarchies import drafted_hierarchy
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.profile import profile
from sqlanon.assess.profiling.roles import K
from sqlanon.core.engines.base import Engine
from sqlanon.core.facts import Facts
from sqlanon.core.policy.paths import is_database
from sqlanon.core.policy.schema_line import schema_line
from sqlanon.core.source.opening import open_source
from sqlanon.core.sqltrees.trees import (
    aliased,
    column,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    number,
    or_zero,
    own_text,
    sum_if,
    total,
)
from sqlanon.errors import InputError, UnsupportedError

LIMIT = 0.1
"""The share of the persons that the draft may leave out."""
MOST_ROWS = (2, 1)
"""Rows of a person in a table, the first that leaves nearly all persons with company."""
RARE = LIMIT / 4
"""The share of the persons whose numbers of rows fewer than K others have, at most."""


@dataclass(frozen=True, slots=True)
class DraftedTable(Facts):
    """A table of the draft: its profile, its key or link, what is published, and the column that orders its rows."""

    KEYS = "table=profile.table preset=profile.preset records=profile.records published"
    profile: Profile
    key: str
    published: tuple[str, ...]
    latest: str | None = None


@dataclass(frozen=True, slots=True)
class LinkedDraft(Facts):
    """A drafted policy of several tables: the text of its file, its tables, and notes with what to decide."""

    KEYS = "tables rows notes"
    yaml: str
    tables: tuple[DraftedTable, ...]
    rows: int
    notes: tuple[str, ...]


def has_linked(source: str, table: str | None, wanted: str | None) -> bool:
    """Return whether a draft of several tables is asked for: of a database, by the name of a family that has some."""
    family = [item for item in presets() if item.family == wanted]
    return table is None and is_database(source) and any(item.linked for item in family)


def draft_linked(source: str, wanted: str, *, output: str, folder: Path) -> LinkedDraft:
    """Return a policy of the persons and of the tables whose rows are theirs, which runs as it stands.

    Args:
        source: a DuckDB file.
        wanted: the family of presets.
        output: the file of the release, beside the policy.
        folder: where the policy will stand.

    Raises:
        InputError: no table belongs to the persons.
        SourceError: there is no table of persons.
        UnsupportedError: another database than DuckDB.
    """
    family = [item for item in presets() if item.family == wanted]
    root = next(item for item in family if item.key and any(other.linked for other in family))
    with open_source(source, _called(root)) as opened:
        engine = opened.engine
        if engine.capabilities.name != "DuckDB":
            raise UnsupportedError(
                f"Several tables are published together from DuckDB, not from {engine.capabilities.name}.",
                hint="name one with --table, or export them to a DuckDB file.",
            )
        found = {plain_name(name.split(".")[-1]): name for name in reversed(engine.catalog.relations())}
        persons = _table(source, root, found[plain_name(_called(root))])
        children, notes = [], []
        for item in (each for each in family if each.linked):
            name = found.get(plain_name(_called(item)))
            child = None if name is None else _table(source, item, name)
            if child is None or not child.profile.records or not child.published:
                notes.append(f"The table {_called(item)} is not there, or holds nothing to publish: it is left out.")
            elif orphans := _orphans(engine, persons, child):
                notes.append(f"{name}: {orphans:,} rows belong to no row of {persons.profile.table}: it is left out.")
            else:
                children.append(child)
        if not children:
            raise InputError(" ".join([f"No table of {wanted} is linked to the persons.", *notes]), hint="say --table.")
        floors = {rows: _rare(engine, persons, children, rows) for rows in MOST_ROWS}
    rows = next((rows for rows, rare in floors.items() if rare <= RARE * persons.profile.records), MOST_ROWS[-1])
    rare = floors[rows]
    notes.append(
        f"{'Is the last row' if rows == 1 else f'Are the last {rows} rows'} of each person enough (latest)? With more, "
        f"more persons stand out by how many they have, which no hierarchy hides; {rare:,} do already."
    )
    notes.append(f"Is k = {K} enough? At least k persons have the same rows in all tables.")
    text = _text([persons, *children], notes, rows, output, folder)
    return LinkedDraft(text, (persons, *children), rows, tuple(notes))


def _called(preset: Preset) -> str:
    """Return how the schema calls the table of a preset."""
    return preset.name.removeprefix(f"{preset.family}_")


def _table(source: str, preset: Preset, name: str) -> DraftedTable:
    """Return a table of the draft.

    Raises:
        InputError: its columns do not fit the preset.
    """
    found = profile(source, name, preset=preset.name)
    key = column_of(preset.key or preset.entity, found.columns)
    assert key is not None and found.preset is not None  # it fits the preset, which needs them
    open_to = [item for item in found.columns if item.role in ("quasi_identifier", "sensitive")]
    if preset.linked:
        open_to = [item for item in open_to if plain_name(item.name) in preset.linked]
    else:
        open_to = [item for item in open_to if item.role != "sensitive"]
    latest = column_of(preset.latest, [item for item in found.columns if item.reads_as in ("date", "moment")])
    return DraftedTable(found, key, tuple(item.name for item in open_to), latest)


def _text_of(table: DraftedTable, alias: str) -> exp.Expr:
    return own_text(table.key, table.profile.column(table.key).type, alias)


def _relation(engine: Engine, table: DraftedTable, alias: str) -> exp.Expr:
    return aliased(engine.catalog.source_table(str(table.profile.table)), alias)


def _orphans(engine: Engine, persons: DraftedTable, child: DraftedTable) -> int:
    """Return how many rows belong to nobody."""
    keys = exp.select(named(_text_of(persons, "p"), "key")).from_(_relation(engine, persons, "p")).subquery("keys")
    query = exp.select(count_if(is_null(column("key", "keys")))).from_(_relation(engine, child, "c"))
    query = query.join(keys, on=equal(_text_of(child, "c"), column("key", "keys")), join_type="left")
    return int(engine.run(f"rows of nobody in {child.profile.table}", query)[0][0] or 0)


def _rare(engine: Engine, persons: DraftedTable, children: Sequence[DraftedTable], rows: int) -> int:
    """Return how many persons have numbers of rows, at most so many in each table, that fewer than K persons have."""
    query = exp.select(count_rows()).from_(_relation(engine, persons, "p"))
    for place, child in enumerate(children):
        alias = f"c{place}"
        each = exp.select(named(_text_of(child, "c"), "key"), named(count_rows(), "n"))
        each = each.from_(_relation(engine, child, "c")).group_by(_text_of(child, "c"))
        query = query.join(
            each.subquery(alias), on=equal(_text_of(persons, "p"), column("key", alias)), join_type="left"
        )
        query = query.group_by(exp.Least(this=or_zero(column("n", alias)), expressions=[number(rows)]))
    query.set("expressions", [named(count_rows(), "persons")])
    few = exp.LT(this=column("persons"), expression=number(K))
    counted = exp.select(sum_if(few, column("persons")), total(column("persons"))).from_(query.subquery("classes"))
    return int(engine.run("persons with rare numbers of rows", counted)[0][0] or 0)


def _text(tables: Sequence[DraftedTable], notes: Sequence[str], rows: int, output: str, base: Path) -> str:
    """Return the text of the policy file."""
    persons = tables[0]
    lines = [
        schema_line(base),
        "# Drafted by `sqlanon profile`: a starting point that runs as it is. No value of the tables is in it.",
        *(line for note in notes for line in comment(f"{DECIDE if '?' in note else 'Note:'} {note}", 0)),
        "version: 1",
        *source_lines(replace(persons.profile, table=None), base),
        "undeclared: drop   # what is not listed below is not published",
        "uncovered: top   # a value that a hierarchy cannot read is published as *",
        "tables:",
    ]
    for table in tables:
        assert table.profile.preset is not None
        lines += ["", *comment(f"{table.profile.preset.sentence}", 2), f"  {scalar(str(table.profile.table))}:"]
        if table is persons:
            lines.append(f"    key: {scalar(table.key)}")
        else:
            lines.append(f"    parent: {flow({str(persons.profile.table): table.key})}")
            if table.latest is not None:
                lines.append(f"    latest: {flow({'rows': rows, 'by': table.latest})}")
        lines.append("    columns:")
        lines += [line for name in table.published for line in _column(table.profile.column(name), table.profile)]
    return "\n".join(
        [
            *lines,
            "",
            f"privacy: [{{type: profile_k, k: {K}}}]",
            f"suppression_limit: {LIMIT}   # the share of the persons that may be left out, with all their rows",
            f"output: {{file: {scalar(output)}}}",
            "",
        ]
    )


def _column(found: ColumnProfile, of: Profile) -> list[str]:
    drafted = drafted_hierarchy(found, is_text=of.is_text, records=of.records)
    keys = {"role": "quasi_identifier", "hierarchy": dict(drafted.keys)}
    return [
        *comment(f"{found.reason} Levels: {drafted.remark}.", 6),
        f"      {scalar(found.name)}: {flow(keys)}",
    ]
