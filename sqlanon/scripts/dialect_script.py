"""The complete SQL of a policy as one script in a dialect: encoding, a batch of nodes, the release and its audits.

The statements are those that ran, as trees; the table of the source is named anew, rows that were loaded become
INSERTs, and values that the widths of the codes have no room for are left out of the lookups. For the operator: it
holds hierarchies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.compiler.encoded_source import COVERED, EncodedColumn, branch
from sqlanon.errors import UnsupportedError
from sqlanon.lattice.catalog import Catalog
from sqlanon.lattice.nodes import Node
from sqlanon.scripts.dialects.base import Dialect
from sqlanon.scripts.dialects.rendering import check_names, say
from sqlanon.scripts.script_source import (
    check_relations,
    is_source,
    of_somebody,
    parts_of,
    source_named,
    with_source,
)
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import both, column, equal, named, number, table, total

RELEASE = names.PREFIX + "release"
"""The table that a script publishes into; whoever runs it gives it another name."""
STAGED = names.PREFIX + "released_entities"
"""The rows of a release with their entities, for the audits alone."""
ROWS = 500
"""Most rows of one INSERT."""
NEIGHBOURS = 8
"""Most nodes that are judged beside the chosen one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptParts:
    """What the script of a plan is made of, as trees in DuckDB's types.

    Attributes:
        source: the relation that the plan was made on.
        source_name: the table that the policy names, as written; None for a file.
        entity: the column that tells whom a record is of; records of nobody (NULL) are no part of the source.
        types: the types of the encoded columns.
        items: the encoded columns, in their order.
        encoding: names and statements that were run to encode the source.
        counts: one row: the records of the source, and those that take part.
        batch: the statement that judges ``nodes``, its parameters as literals.
        nodes: what each node of the batch is, in words.
        release: the rows of the release.
        released: its columns.
        staged: with an entity, the rows of the release and whom each is of: the models are audited over them, and
            ``release`` is made of them.
        staged_audits: names and statements about the staged rows.
        audits: names and statements; each gives the offending rows.
        facts: what the head of the script tells of the plan, a line each.
    """

    source: exp.Expr
    source_name: str | None
    entity: str | None
    types: Mapping[str, str]
    items: Sequence[EncodedColumn]
    encoding: Sequence[tuple[str, exp.Expr]]
    counts: exp.Query
    batch: exp.Query
    nodes: Sequence[str]
    release: exp.Query
    released: Sequence[str]
    staged: exp.Query | None
    staged_audits: Sequence[tuple[str, exp.Query]]
    audits: Sequence[tuple[str, exp.Query]]
    facts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Told:
    """A statement of a script: what it is, in words, and its text."""

    title: str
    text: str


def neighbours(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    """The nodes that differ from ``node`` by one level of one attribute, the more special one first."""
    for place, (level, height) in enumerate(zip(node, heights, strict=True)):
        for other in (level - 1, level + 1):
            if 0 <= other < height:
                yield (*node[:place], other, *node[place + 1 :])


def script_facts(catalog: Catalog, source: str | None) -> list[str]:
    """On which values the widths of the codes were measured: counts only."""
    told = [f"{a.name} {' > '.join(map(str, a.widths))}" for a in catalog.attributes]
    told += [f"{s.name} {s.values}" for s in catalog.sensitive]
    return [
        f"The widths of the codes were measured on the {catalog.records} records of {source or 'a connection'}: "
        f"{catalog.excluded} of them excluded for a NULL, {catalog.uncovered} with a value that no hierarchy lists.",
        f"Distinct values by column, and by level of the quasi-identifiers: {'; '.join(told)}.",
    ]


def dialect_script(parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None) -> str:
    """The script of a plan in a dialect.

    Args:
        source_table: the name of the source in the warehouse; by default as the policy names it.

    Raises:
        UnsupportedError: the dialect cannot say a statement, a type or a name.
        InputError: the policy names no table, and neither does ``source_table``.
    """
    statements = list(told_statements(parts, dialect, source_table=source_table))
    head = [
        f"sqlanon: the SQL of a policy for {dialect.title}.",
        "For the operator: it holds the texts of hierarchies; it does not travel with the release.",
        *(
            ["An entity is a person, say: " + f"{STAGED} tells whom a record is of, and is no part of the release."]
            if parts.staged is not None
            else []
        ),
        *parts.facts,
        "Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no "
        "row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, "
        "but for the audits it does.",
        f"The audits at the end say whether {RELEASE} meets the policy: each must give no row. They decide, because "
        "the table may hold other records than those above. Its name is for the time of the audits: rename it after.",
        *dialect.notes,
    ]
    lines = "\n".join(f"-- {' '.join(line.split())}" for line in head)
    numbered = [f"-- {i}. {told.title}\n{told.text};" for i, told in enumerate(statements, start=1)]
    return "\n\n".join([lines, *numbered]) + "\n"


def told_statements(parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None) -> Iterator[Told]:
    """The statements of the script, in order.

    Raises:
        UnsupportedError, InputError: as ``dialect_script``.
    """
    _check_texts(parts, dialect)
    check_names(parts.released, dialect, released=True)
    wanted = source_named(parts.source_name, dialect, source_table)
    records = wanted if parts.entity is None else of_somebody(wanted, parts.entity)
    ours: list[exp.Table] = []
    known = {parts_of(wanted)}

    temporary = [exp.TemporaryProperty()] if dialect.temporary else []

    def told(title: str, tree: exp.Expr, *properties: exp.Expr) -> Told:
        statement = with_source(tree, parts.source, records)
        check_relations(statement, known)
        return Told(" ".join(title.split()), say(statement, dialect, properties=properties))

    for number_, text in enumerate(dialect.preamble):
        yield Told("prepare the session" if not number_ else "and", text)
    for title, tree in _ours(parts):
        if isinstance(tree, exp.Create):
            known.add((tree.this.name,))
            ours.append(tree.this)
        for piece in _pieces(_roomed(tree, parts.items)):
            making = isinstance(piece, exp.Create)
            yield told(title, piece, *([*temporary, *dialect.properties] if making else ()))
    somebodys = " that are of an entity" if parts.entity is not None else ""
    yield told(f"records of the source{somebodys}, and those that take part", parts.counts)
    encoded = exp.select(named(total(column(names.COUNT)), "encoded")).from_(table(names.BASE))
    yield told("records that were encoded", encoded)
    listed = "; ".join(f"{i}: {node}" for i, node in enumerate(parts.nodes))
    yield told(f"the verdicts of some nodes ({listed})", parts.batch)
    if parts.staged is not None:
        known.add((STAGED,))
        staged = exp.Create(this=table(STAGED), kind="TABLE", expression=parts.staged.copy())
        ours.append(staged.this)
        yield told("the rows of the release, with their entities", staged, *temporary, *dialect.properties)
    for name, query in parts.staged_audits:
        yield told(f"audit {name}, by entities: no row", query)
    made = exp.Create(this=table(RELEASE), kind="TABLE", expression=parts.release.copy())
    yield told("the release", made, *dialect.release_properties)
    known.add((RELEASE,))
    for name, query in parts.audits:
        unless = ", if the table is the one that was planned on" if name == "row_count" else ""
        yield told(f"audit {name}: no row{unless}", query)
    if not dialect.temporary:
        for relation in ours:
            yield told("drop", exp.Drop(tables=[relation.copy()], kind="TABLE", exists=True))


def _check_texts(parts: ScriptParts, dialect: Dialect) -> None:
    for name, type_name in parts.types.items():
        base = "VARCHAR" if type_name.upper().startswith("ENUM") else type_name.split("(")[0].upper()
        if base not in dialect.texts:
            raise UnsupportedError(
                f"Column {name!r} has the type {base}, whose values {dialect.title} may write otherwise as text, so "
                "that they would not meet their hierarchy.",
                hint="cast it to text in a view of the source, here and there.",
            )


def _ours(parts: ScriptParts) -> Iterator[tuple[str, exp.Expr]]:
    """The statements that encode; those before them brought the source to where it was planned on."""
    for title, tree in parts.encoding:
        if isinstance(tree, exp.Create | exp.Insert) and not is_source(_relation(tree), parts.source):
            yield title, tree


def _relation(tree: exp.Expr) -> exp.Expr:
    relation: exp.Expr = tree.this
    return relation.this if isinstance(relation, exp.Schema) else relation


def _roomed(tree: exp.Expr, items: Sequence[EncodedColumn]) -> exp.Expr:
    """A lookup without the values whose branch does not fit its field: their codes would be those of others.

    That of a sensitive column is also without the values that its hierarchy does not list: nothing else keeps these
    from being counted by their codes.
    """
    for position, item in enumerate(items):
        if isinstance(tree, exp.Create) and tree.this.name == names.lookup(position):
            conditions: list[exp.Expr] = [
                exp.LT(this=column(branch(level)), expression=number(1 << bits))
                for level, (_, _, bits) in enumerate(item.fields)
            ]
            if item.sensitive:
                conditions.append(equal(column(COVERED), number(1)))
            made = tree.copy()
            made.set("expression", made.expression.where(both(conditions), copy=False))
            return made
    return tree


def _pieces(tree: exp.Expr) -> Iterator[exp.Expr]:
    """A statement; one that makes a table of given rows as a table with declared types, and INSERTs."""
    if not isinstance(tree, exp.Create):
        yield tree
        return
    made = tree.copy()
    made.set("properties", None)
    query = made.expression
    source = query.args.get("from_")
    if not isinstance(query, exp.Select) or (source is not None and not isinstance(source.this, exp.Values)):
        yield made
        return
    columns = [
        exp.ColumnDef(this=exp.to_identifier(item.alias, quoted=True), kind=item.this.args["to"].copy())
        for item in query.expressions
    ]
    made.set("this", exp.Schema(this=tree.this.copy(), expressions=columns))
    made.set("expression", None)
    yield made
    rows = source.this.expressions if source is not None else []
    for start in range(0, len(rows), ROWS):
        chunk = exp.Values(expressions=[row.copy() for row in rows[start : start + ROWS]])
        yield exp.Insert(this=tree.this.copy(), expression=chunk)
