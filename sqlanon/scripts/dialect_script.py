"""The complete SQL of a policy as one script in a dialect: encoding, a batch of nodes, the release and its audits.

The statements are those that ran, as trees. The source has its name in the warehouse, rows that were loaded become
INSERTs, and the lookups leave out values that the widths of the codes have no room for. A script is for the operator:
it contains hierarchies.
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
from sqlanon.scripts.dialects.rendering import check_names, render
from sqlanon.scripts.script_source import (
    check_relations,
    is_source,
    parts_of,
    replace_source,
    warehouse_table,
    with_entity,
)
from sqlanon.sqltrees import names
from sqlanon.sqltrees.trees import both, column, equal, named, number, table, total

RELEASE = names.PREFIX + "release"
"""The table that a script publishes into; the operator renames it."""
STAGED = names.PREFIX + "released_entities"
"""The rows of a release with their entities, for the audits alone."""
ROWS = 500
"""Most rows of one INSERT."""
NEIGHBOURS = 8
"""Most nodes that are judged beside the chosen one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptParts:
    """The parts of the script of a plan, as trees in DuckDB's types.

    Attributes:
        source: the relation that was planned on.
        source_name: the table that the policy names, as written; None for a file.
        entity: the column with the entity of a record; records without an entity (NULL) are no part of the source.
        types: the types of the encoded columns.
        items: the encoded columns, in their order.
        encoding: the names and statements that encoded the source.
        counts: a query of one row: the records of the source, and those that take part.
        batch: the statement that judges ``nodes``, its parameters as literals.
        nodes: the levels of each node of the batch, in words.
        release: the rows of the release.
        released: its columns.
        staged: the rows of the release with their entities, if the policy names an entity. The models are audited over
            them, and ``release`` selects from them.
        staged_audits: the names and statements of audits over the staged rows.
        audits: the names and statements of audits; each returns the offending rows.
        facts: lines about the plan for the head of the script.
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
class ScriptStatement:
    """A statement of a script: its title and its text."""

    title: str
    text: str


def neighbours(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    """Yield the nodes that differ from ``node`` by one level of one attribute, the more special one first."""
    for place, (level, height) in enumerate(zip(node, heights, strict=True)):
        for other in (level - 1, level + 1):
            if 0 <= other < height:
                yield (*node[:place], other, *node[place + 1 :])


def script_facts(catalog: Catalog, source: str | None) -> list[str]:
    """Describe the values on which the widths of the codes were measured, by counts only."""
    widths = [f"{a.name} {' > '.join(map(str, a.widths))}" for a in catalog.attributes]
    widths += [f"{s.name} {s.values}" for s in catalog.sensitive]
    return [
        f"The widths of the codes were measured on the {catalog.records} records of {source or 'a connection'}: "
        f"{catalog.excluded} of them excluded for a NULL, {catalog.uncovered} with a value that no hierarchy lists.",
        f"Distinct values by column, and by level of the quasi-identifiers: {'; '.join(widths)}.",
    ]


def dialect_script(parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None) -> str:
    """Return the script of a plan in a dialect.

    Args:
        source_table: the name of the source in the warehouse; by default as the policy names it.

    Raises:
        UnsupportedError: the dialect cannot write a statement, a type or a name.
        InputError: the policy names no table, and neither does ``source_table``.
    """
    statements = list(script_statements(parts, dialect, source_table=source_table))
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
    numbered = [f"-- {i}. {item.title}\n{item.text};" for i, item in enumerate(statements, start=1)]
    return "\n\n".join([lines, *numbered]) + "\n"


def script_statements(
    parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None
) -> Iterator[ScriptStatement]:
    """Yield the statements of the script, in order.

    Raises:
        UnsupportedError, InputError: as ``dialect_script``.
    """
    _check_texts(parts, dialect)
    check_names(parts.released, dialect, released=True)
    wanted = warehouse_table(parts.source_name, dialect, source_table)
    records = wanted if parts.entity is None else with_entity(wanted, parts.entity)
    created: list[exp.Table] = []
    known = {parts_of(wanted)}

    temporary = [exp.TemporaryProperty()] if dialect.temporary else []

    def rendered(title: str, tree: exp.Expr, *properties: exp.Expr) -> ScriptStatement:
        statement = replace_source(tree, parts.source, records)
        check_relations(statement, known)
        return ScriptStatement(" ".join(title.split()), render(statement, dialect, properties=properties))

    for position, text in enumerate(dialect.preamble):
        yield ScriptStatement("prepare the session" if not position else "and", text)
    for title, tree in _encoding(parts):
        if isinstance(tree, exp.Create):
            known.add((tree.this.name,))
            created.append(tree.this)
        for piece in _split_rows(_without_wide_codes(tree, parts.items)):
            creates = isinstance(piece, exp.Create)
            yield rendered(title, piece, *([*temporary, *dialect.properties] if creates else ()))
    with_entities = " that are of an entity" if parts.entity is not None else ""
    yield rendered(f"records of the source{with_entities}, and those that take part", parts.counts)
    encoded = exp.select(named(total(column(names.COUNT)), "encoded")).from_(table(names.BASE))
    yield rendered("records that were encoded", encoded)
    listed = "; ".join(f"{i}: {node}" for i, node in enumerate(parts.nodes))
    yield rendered(f"the verdicts of some nodes ({listed})", parts.batch)
    if parts.staged is not None:
        known.add((STAGED,))
        staged = exp.Create(this=table(STAGED), kind="TABLE", expression=parts.staged.copy())
        created.append(staged.this)
        yield rendered("the rows of the release, with their entities", staged, *temporary, *dialect.properties)
    for name, query in parts.staged_audits:
        yield rendered(f"audit {name}, by entities: no row", query)
    release = exp.Create(this=table(RELEASE), kind="TABLE", expression=parts.release.copy())
    yield rendered("the release", release, *dialect.release_properties)
    known.add((RELEASE,))
    for name, query in parts.audits:
        unless = ", if the table is the one that was planned on" if name == "row_count" else ""
        yield rendered(f"audit {name}: no row{unless}", query)
    if not dialect.temporary:
        for relation in created:
            yield rendered("drop", exp.Drop(tables=[relation.copy()], kind="TABLE", exists=True))


def _check_texts(parts: ScriptParts, dialect: Dialect) -> None:
    """Raise UnsupportedError if a column has a type whose texts may not meet their hierarchy in the dialect."""
    for name, type_name in parts.types.items():
        base = "VARCHAR" if type_name.upper().startswith("ENUM") else type_name.split("(")[0].upper()
        if base not in dialect.texts:
            raise UnsupportedError(
                f"Column {name!r} has the type {base}, whose values {dialect.title} may write otherwise as text, so "
                "that they would not meet their hierarchy.",
                hint="cast it to text in a view of the source, here and there.",
            )


def _encoding(parts: ScriptParts) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the statements that encode, without those that opened or loaded the source."""
    for title, tree in parts.encoding:
        if isinstance(tree, exp.Create | exp.Insert) and not is_source(_relation(tree), parts.source):
            yield title, tree


def _relation(tree: exp.Expr) -> exp.Expr:
    relation: exp.Expr = tree.this
    return relation.this if isinstance(relation, exp.Schema) else relation


def _without_wide_codes(tree: exp.Expr, items: Sequence[EncodedColumn]) -> exp.Expr:
    """Return a lookup without the values whose branch does not fit its field: their codes would be those of others.

    The lookup of a sensitive column is also without the values that its hierarchy does not list: nothing else keeps
    these from being counted by their codes. Other statements are returned as they are.
    """
    for position, item in enumerate(items):
        if isinstance(tree, exp.Create) and tree.this.name == names.lookup(position):
            conditions: list[exp.Expr] = [
                exp.LT(this=column(branch(level)), expression=number(1 << bits))
                for level, (_, _, bits) in enumerate(item.fields)
            ]
            if item.sensitive:
                conditions.append(equal(column(COVERED), number(1)))
            narrowed = tree.copy()
            narrowed.set("expression", narrowed.expression.where(both(conditions), copy=False))
            return narrowed
    return tree


def _split_rows(tree: exp.Expr) -> Iterator[exp.Expr]:
    """Yield a statement, or, if it creates a table from listed rows, an empty table with declared types and INSERTs."""
    if not isinstance(tree, exp.Create):
        yield tree
        return
    creation = tree.copy()
    creation.set("properties", None)
    query = creation.expression
    source = query.args.get("from_")
    if not isinstance(query, exp.Select) or (source is not None and not isinstance(source.this, exp.Values)):
        yield creation
        return
    columns = [
        exp.ColumnDef(this=exp.to_identifier(item.alias, quoted=True), kind=item.this.args["to"].copy())
        for item in query.expressions
    ]
    creation.set("this", exp.Schema(this=tree.this.copy(), expressions=columns))
    creation.set("expression", None)
    yield creation
    rows = source.this.expressions if source is not None else []
    for start in range(0, len(rows), ROWS):
        chunk = exp.Values(expressions=[row.copy() for row in rows[start : start + ROWS]])
        yield exp.Insert(this=tree.this.copy(), expression=chunk)
