"""The rows that are published of several tables: generalized, with pseudonyms in the place of keys.

Pseudonyms are keyed hashes of the keys (``publish.release_key``), with a key of its own for each table. The rows are
staged in working tables, so that what is written is read once, and written in the order of what is published of them,
pseudonyms first: the order shows nothing of the source.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.audit.linked import AuditedTable
from sqlanon.core.audit.release import ReleaseClaim
from sqlanon.core.compiler.keyed import pseudonym, release_key
from sqlanon.core.compiler.release import typed
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.profiles import Numbers
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.publish.written_rows import typed_texts, written_types
from sqlanon.core.source.encoding import Encoding
from sqlanon.core.source.release_key import ReleaseKey
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.data_types import data_type
from sqlanon.core.sqltrees.trees import column, equal, lookup_rows, named, table
from sqlanon.errors import EngineError
from sqlanon.tables.encoding import EncodedTables
from sqlanon.tables.linking import NUMBER, TEXT
from sqlanon.tables.policy import LinkedTable, TablesPolicy

HASH = "pseudonym"
"""Column of the pseudonyms of rows."""
PURPOSE = "key of table "
"""Before the name of a table, the purpose of its key: no table may have the key of another purpose (``shift``), whose
hashes say by how many days dates are shifted, or one would publish them."""
NUMBERS = (names.OWN_ROW, names.PARENT_ROW, names.PERSON)


@dataclass(frozen=True, slots=True)
class ChosenNode:
    """The node that a search has chosen.

    Attributes:
        node: a level per quasi-identifier of all tables.
        persons: the numbers of the published persons.
        published: rows of each table that are theirs.
    """

    node: Node
    persons: Numbers
    published: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableDraft:
    """A table that is about to be written.

    Attributes:
        query: its rows, in the order in which they are written.
        claim: what its columns and values must be; classes are judged over all tables.
        texts: per quasi-identifier the texts of its level (``value``), in the types of the source.
        place: how it stands in the trees; its relation is known when it is written.
    """

    query: exp.Query
    claim: ReleaseClaim
    texts: Mapping[str, pa.Table]
    place: AuditedTable


@contextmanager
def drafted(
    engine: Engine, encoded: EncodedTables, policy: TablesPolicy, chosen: ChosenNode, ending: str
) -> Iterator[list[TableDraft]]:
    """Yield the draft of each table; the working tables of the drafts are dropped at the end.

    Args:
        ending: of the files that are written, with its dot.

    Raises:
        InputError: the policy's key cannot be read.
    """
    count = len(policy.tables)
    persons = pa.table({names.PERSON: pa.array(chosen.persons)})
    release = ReleaseKey(secrets.token_bytes(32)) if policy.key is None else ReleaseKey.of(policy.key)
    hashed = [position for position, published in enumerate(policy.published_keys) if published]
    try:
        engine.load("published persons", names.PUBLISHED, persons, replayed=False)
        if hashed:
            with release.loaded(engine, [_purpose(policy.tables[position]) for position in hashed]):
                for position in hashed:
                    hashes = _pseudonyms(position, _purpose(policy.tables[position]))
                    engine.create("pseudonyms", names.pseudonyms(position), hashes, replayed=False)
        yield [
            _draft(engine, encoded.encodings[position], policy, position, chosen, ending) for position in range(count)
        ]
    finally:
        with suppress(EngineError):
            for name in (
                *map(names.pseudonyms, hashed),
                *map(names.staged_table, range(count)),
                names.PUBLISHED,
            ):
                engine.drop(name)


def _purpose(item: LinkedTable) -> str:
    """Return the purpose of the key by which the keys of a table are hashed."""
    return PURPOSE + item.name


def _pseudonyms(position: int, purpose: str) -> exp.Select:
    """Return the pseudonym of each row of a table by its number."""
    own = exp.cast(column(TEXT, "keys"), "VARCHAR")
    query = exp.select(column(NUMBER, "keys"), named(pseudonym(own, "release"), HASH))
    query = query.from_(table(names.row_keys(position), "keys"))
    return query.join(release_key(purpose, "release"), join_type="cross")


def _draft(
    engine: Engine, encoding: Encoding, policy: TablesPolicy, position: int, chosen: ChosenNode, ending: str
) -> TableDraft:
    """Stage the rows of one table, and return what is written of it."""
    item = policy.tables[position]
    levels = [level for (owner, _), level in zip(policy.attributes, chosen.node, strict=True) if owner == position]
    if encoding.source.items:  # the statements of a table read its own lookups
        kept = exp.select(exp.Star()).from_(table(names.linked_lookup(position)))
        engine.create("lookups again", names.LOOKUP, kept, replayed=False)
    types, cells = _cells(item, encoding, levels)
    keys = _published_keys(policy, position)
    types = {**dict.fromkeys(keys, "VARCHAR"), **types}
    written = dict(zip(types, written_types(list(types.values()), ending, None), strict=True))
    query = _rows(encoding, list(keys.values()), cells, types, written)
    staged = names.staged_table(position)
    engine.create("stage table", staged, query, replayed=False)
    texts = {
        a.name: _texts(engine, place, level, types[a.name])
        for place, (a, level) in enumerate(zip(encoding.catalog.attributes, levels, strict=True))
    }
    engine.drop(names.LOOKUP)
    in_order = [exp.Ordered(this=exp.cast(column(name), "VARCHAR"), nulls_first=False) for name in written]
    own_key = item.key if policy.published_keys[position] else None
    quasi = tuple(texts)
    return TableDraft(
        query=exp.select(*map(column, written)).from_(table(staged)).order_by(*in_order),
        claim=ReleaseClaim(
            types=written,
            quasi_identifiers=quasi,
            models=(),
            published=chosen.published[position],
            nulls=policy.nulls,
        ),
        texts=texts,
        place=AuditedTable(item.name, exp.null(), quasi, item.parent, own_key, item.link),
    )


def _published_keys(policy: TablesPolicy, position: int) -> dict[str, tuple[int, str]]:
    """Return the keys that are published of a table: the table whose pseudonyms they are, and the column of numbers."""
    item = policy.tables[position]
    keys = {}
    if item.key is not None and policy.published_keys[position]:
        keys[item.key] = (position, names.OWN_ROW)
    if item.link is not None and item.parent is not None:
        keys[item.link] = (item.parent, names.PARENT_ROW)
    return keys


def _cells(item: LinkedTable, encoding: Encoding, levels: list[int]) -> tuple[dict[str, str], list[exp.Expr]]:
    """Return the published columns of a table with their types, and their values."""
    attributes = {a.name: (place, a) for place, a in enumerate(encoding.catalog.attributes)}
    types: dict[str, str] = {}
    cells: list[exp.Expr] = []
    for wanted in item.policy.columns:
        if wanted.role == "drop":
            continue
        name, kind = wanted.name, encoding.types[wanted.name]
        types[name] = "VARCHAR" if kind.upper().startswith("ENUM") else kind
        value: exp.Expr = column(name, "source")
        if name in attributes:
            place, attribute = attributes[name]
            types[name] = types[name] if attribute.keeps_type[levels[place]] else "VARCHAR"
            value = column(names.level(levels[place]), names.lookup(place))
        cells.append(typed(value, types[name], generalized=name in attributes))
    return types, cells


def _rows(
    encoding: Encoding,
    keys: list[tuple[int, str]],
    cells: list[exp.Expr],
    types: Mapping[str, str],
    written: Mapping[str, str],
) -> exp.Select:
    """Return the rows of the published persons in the types in which they are written."""
    numbered = [named(cell, f"cell_{place}") for place, cell in enumerate(cells)]
    rows = encoding.source.encoded([*[column(name, "source") for name in NUMBERS], *numbered])
    shown = [column(HASH, f"keys_{owner}") for owner, _ in keys]
    shown += [column(f"cell_{place}", "records") for place in range(len(cells))]
    values = [
        named(value if types[name] == kind else exp.cast(value, data_type(kind)), name)
        for value, (name, kind) in zip(shown, written.items(), strict=True)
    ]
    met = equal(column(names.PERSON, "records"), column(names.PERSON, "persons"))
    query = exp.select(*values).from_(rows.subquery("records")).join(table(names.PUBLISHED, "persons"), on=met)
    for owner, numbers in keys:
        alias = f"keys_{owner}"
        on = equal(column(numbers, "records"), column(NUMBER, alias))
        query = query.join(table(names.pseudonyms(owner), alias), on=on)
    return query


def _texts(engine: Engine, place: int, level: int, kind: str) -> pa.Table:
    """Return the texts that a level of a quasi-identifier publishes, as they read in the type of its column."""
    texts = exp.select(named(column(names.level(level)), "value")).distinct().from_(lookup_rows(place))
    return engine.arrow("lookup texts", exp.select(column("value")).from_(typed_texts(texts.subquery("lookup"), kind)))
