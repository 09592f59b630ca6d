"""The complete SQL of a policy as one script in a dialect: encoding, a batch of nodes, the release and its audits.

The statements are those that ran, as trees. The source has its name in the warehouse, rows that were loaded become
INSERTs, and the lookups leave out values that the widths of the codes have no room for. A script is for the operator:
it contains hierarchies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Template

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, EncodedColumn, branch
from sqlanon.core.engines.replay import analysis
from sqlanon.core.engines.sqlite.joins import part_prefix
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.files import read
from sqlanon.core.sqltrees.trees import among, both, by_position, column, equal, named, number, row_number, table, total
from sqlanon.errors import InputError, UnsupportedError
from sqlanon.interop.scripts.dialects.base import Dialect
from sqlanon.interop.scripts.dialects.rendering import check_distinct, check_names, render, render_rows
from sqlanon.interop.scripts.listed_rows import ROWS, ListedRows, as_file, check_folder
from sqlanon.interop.scripts.script_source import (
    check_relations,
    is_source,
    parts_of,
    replace_source,
    warehouse_table,
    with_entity,
)

RELEASE = names.PREFIX + "release"
"""The table that a script publishes into; the operator renames it."""
STAGED = names.PREFIX + "released_entities"
"""The rows of a release with their entities, for the audits alone."""
PARTS = 4096
"""The parts that the rows of a release are shuffled in, where no database sorts them as a whole."""
NEIGHBOURS = 8
"""Most nodes that are judged beside the chosen one."""


def of_run(name: str, run: str) -> str:
    """Return the name that a table of ours has in the script of a run, so that no script drops or reads another's."""
    return f"{names.PREFIX}{run}_{name.removeprefix(names.PREFIX)}" if run else name


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptParts:
    """The parts of the script of a plan, as trees in DuckDB's types.

    Attributes:
        run: what the names of the script's tables hold, a word of its own for each script; empty: nothing.
        characters: how many the values of one scan have as text, of the columns that are read.
        records: those that were planned on.
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

    run: str
    characters: int
    records: int
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
    """A statement of a script: its title and its text.

    Attributes:
        audit: of a statement that fails where an audit finds rows, the query of these rows.
    """

    title: str
    text: str
    audit: str | None = None

    @property
    def ended(self) -> str:
        """The text as it stands in the script: a command of a shell ends with its line."""
        return self.text if self.text.startswith(".") else self.text + ";"


def neighbours(node: Node, heights: Sequence[int]) -> Iterator[Node]:
    """Yield the nodes that differ from ``node`` by one level of one attribute, the more specific one first."""
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


def dialect_script(
    parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None, lookups: str | None = None
) -> str:
    """Return the script of a plan in a dialect.

    Args:
        source_table: the name of the source in the warehouse; by default as the policy names it.
        lookups: the folder of the files of ``lookup_files``, from which the script loads long lists of rows.

    Raises:
        UnsupportedError: the dialect cannot write a statement, a type or a name.
        InputError: the policy names no table, and neither does ``source_table``; or rows are too many to be listed.
    """
    statements = list(script_statements(parts, dialect, source_table=source_table, lookups=lookups))
    files = list(lookup_files(parts)) if lookups is not None else []
    head = [
        f"sqlanon: the SQL of a policy for {dialect.title}.",
        "For the operator: it holds the texts of hierarchies; it does not travel with the release.",
        *(
            [f"{of_run(STAGED, parts.run)} holds the entity (a person, say) of each record; it is not released."]
            if parts.staged is not None
            else []
        ),
        *parts.facts,
        "Quasi-identifying values of the table that no hierarchy lists, or that these widths have no room for, have no "
        "row in a lookup, and the JOIN suppresses their records; a sensitive value without a row counts for no class, "
        "but for the audits it does.",
        f"The audits at the end say whether {of_run(RELEASE, parts.run)} meets the policy: the table may hold other "
        "records than those above. An audit that finds rows fails, which ends the script in most clients "
        f"({dialect.stops}).",
        "Run it in a scratch schema without default grants. When all audits have passed, rename the release and move "
        "it to its readers.",
        "The names of its tables belong to this script alone. To run it twice at the same time, write a second script.",
        _costs(parts),
        *dialect.notes,
        *([f"It loads {', '.join(files)} of {lookups}. {dialect.loads}"] if files else []),
    ]
    lines = "\n".join(f"-- {' '.join(line.split())}" for line in head)
    numbered = [f"-- {i}. {item.title}\n{item.ended}" for i, item in enumerate(statements, start=1)]
    script = "\n\n".join([lines, *numbered]) + "\n"
    if lookups is None and dialect.longest_script is not None and len(script.encode()) > dialect.longest_script:
        raise InputError(
            f"The script has {len(script.encode())} bytes, and {dialect.title} takes {dialect.longest_script}.",
            hint="add --lookups FOLDER: hierarchies become CSV files there, which the script loads.",
        )
    return script


def _costs(parts: ScriptParts) -> str:
    """Estimate the bytes that a script reads, as a sentence."""
    scans, record = _reading(parts), -(-parts.characters // max(parts.records, 1))
    megabytes = math.ceil(scans * parts.characters / 100_000) / 10
    return (
        f"Costs: {scans} statements read the table, the others its distinct combinations. A record has about {record} "
        f"bytes in the columns that are read (as text, uncompressed), so that a table of {parts.records} records costs "
        f"about {megabytes} MB at most; the cost grows with the records."
    )


def _reading(parts: ScriptParts) -> int:
    """Return how many statements read the source."""
    queries = [tree for _, tree in (*_encoding(parts), *parts.staged_audits, *parts.audits)]
    trees = [*queries, parts.counts, parts.release, *([parts.staged] if parts.staged is not None else [])]
    return sum(any(is_source(item, parts.source) for item in tree.find_all(exp.Table)) for tree in trees)


def lookup_files(parts: ScriptParts) -> dict[str, str]:
    """Return the files that a script with a folder for lookups loads: their names, and their texts."""
    listed = [_listed(tree, parts.run) for _, tree in _encoding(parts)]
    return {item.name: item.file() for item in listed if item is not None and len(item.rows) > ROWS}


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the statements of a script in its dialect.

    Attributes:
        source: the relation that was planned on, and ``records`` what stands in its place.
        known: the relations that a statement may read.
        own: the names of our tables in the script.
        indexed: the indexes that were created.
    """

    dialect: Dialect
    source: exp.Expr
    records: exp.Expr
    known: set[tuple[str, ...]]
    own: Mapping[str, str]
    indexed: set[str] = field(default_factory=set)

    def properties(self, tree: exp.Expr) -> list[exp.Expr]:
        """Return the properties of a table of the script in the statement that creates it; of another none."""
        temporary = [exp.TemporaryProperty()] if self.dialect.temporary else []
        return [*temporary, *self.dialect.properties] if isinstance(tree, exp.Create) else []

    def listed(self, title: str, listed: ListedRows, folder: str | None) -> Iterator[ScriptStatement]:
        """Yield the statements of a table of listed rows, as INSERTs or from a file."""
        if folder is None or not as_file(listed, self.dialect, folder):
            for piece in listed.inserts():
                yield from self.statements(title, piece, *self.properties(piece))
            return
        for piece in (listed.texts(), listed.unsigned()):
            yield from self.statements(title, piece, *self.properties(piece))
            if isinstance(piece.this, exp.Schema):
                self.known.add((listed.loaded.name,))
                for text in listed.loading(self.dialect, folder):
                    yield ScriptStatement("load the file", text)
        yield from self.statements("drop", exp.Drop(tables=[listed.loaded], kind="TABLE", exists=True))

    def statements(self, title: str, tree: exp.Expr, *properties: exp.Expr) -> Iterator[ScriptStatement]:
        """Yield the statements that the dialect has for one; ``properties`` are those of the table that it creates."""
        titled = " ".join(title.split())
        if _lists_rows(tree):
            into = table(self.own.get(tree.this.name, tree.this.name))
            yield ScriptStatement(titled, render_rows(exp.Insert(this=into, expression=tree.expression), self.dialect))
            return
        temporary = [exp.TemporaryProperty()] if self.dialect.temporary else []
        for step, piece in self.dialect.steps(replace_source(tree, self.source, self.records, self.own)):
            creates = isinstance(piece, exp.Create)
            if creates and isinstance(piece.this, exp.Table):
                self.known.add((piece.this.name,))
            own = properties if step is None else temporary if creates and piece.args["kind"] == "TABLE" else ()
            check_relations(piece, self.known)
            text = render(piece, self.dialect, properties=own)
            if text not in self.indexed:
                yield ScriptStatement(titled if step is None else step, text)
            if isinstance(piece.this, exp.Index) and not piece.this.args["table"].name.startswith(part_prefix):
                self.indexed.add(text)

    def audit(self, title: str, query: exp.Query, *, stops: bool = True) -> Iterator[ScriptStatement]:
        """Yield the statements of an audit; the one that returns the offending rows fails where there are any.

        Args:
            stops: otherwise they are returned: another number of rows is no fault of a table that has changed.
        """
        ending = (
            "it stops the script if it finds a row" if stops else "no row, if the table is the one that was planned on"
        )
        titled = " ".join(f"{title}: {ending}".split())
        template = Template(read(f"stop/{self.dialect.name}.sql"))
        for item in self.statements(titled, query):
            if stops and item.title == titled:
                item = ScriptStatement(titled, template.substitute(query=item.text).strip(), item.text)
            yield item


def script_statements(
    parts: ScriptParts, dialect: Dialect, *, source_table: str | None = None, lookups: str | None = None
) -> Iterator[ScriptStatement]:
    """Yield the statements of the script, in order.

    Raises:
        UnsupportedError, InputError: as ``dialect_script``.
    """
    check_folder(lookups, dialect)
    _check_columns(parts, dialect)
    wanted = warehouse_table(parts.source_name, dialect, source_table)
    records = wanted if parts.entity is None else with_entity(wanted, parts.entity)
    created: list[exp.Table] = []
    known = {parts_of(wanted)}
    temporary = [exp.TemporaryProperty()] if dialect.temporary else []
    encoding = list(_encoding(parts))
    encoded_into = [tree.this.name for _, tree in encoding if isinstance(tree, exp.Create)]
    own = {name: of_run(name, parts.run) for name in (*encoded_into, RELEASE, STAGED)}
    writer = _Writer(dialect, parts.source, records, known, own)
    rendered = writer.statements

    for position, text in enumerate(dialect.preamble):
        yield ScriptStatement("prepare the session" if not position else "and", text)
    built = [relation for _, tree in encoding for relation in _built(tree, dialect, lookups, parts.run)]
    for relation in [*built, *([table(STAGED)] if parts.staged is not None else []), table(RELEASE)]:
        # what a run that failed has left
        yield from rendered(
            "drop what is left of an earlier run", exp.Drop(tables=[relation], kind="TABLE", exists=True)
        )
    last_write = {_relation(tree).name: position for position, (_, tree) in enumerate(encoding)}
    for position, (title, tree) in enumerate(encoding):
        if isinstance(tree, exp.Create):
            known.add((own[tree.this.name],))
            created.append(tree.this)
        listed = _listed(tree, parts.run)
        if listed is not None:
            yield from writer.listed(title, listed, lookups)
        else:
            plain = _without_wide_codes(tree, parts.items).copy()
            if isinstance(plain, exp.Create):
                plain.set("properties", None)
            yield from rendered(title, plain, *writer.properties(plain))
        if dialect.analyzes and last_write[_relation(tree).name] == position:
            yield from rendered("statistics for the planner", analysis(_relation(tree)))
    with_entities = " that are of an entity" if parts.entity is not None else ""
    yield from rendered(f"records of the source{with_entities}, and those that take part", parts.counts)
    encoded = exp.select(named(total(column(names.COUNT)), "encoded")).from_(table(names.BASE))
    yield from rendered("records that were encoded", encoded)
    judged = "; ".join(f"{i}: {node}" for i, node in enumerate(parts.nodes))
    yield from rendered(f"the verdicts of some nodes ({judged})", parts.batch)
    if parts.staged is not None:
        known.add((own[STAGED],))
        staged = exp.Create(this=table(STAGED), kind="TABLE", expression=parts.staged.copy())
        created.append(staged.this)
        yield from rendered("the rows of the release, with their entities", staged, *temporary, *dialect.properties)
        if dialect.analyzes:
            yield from rendered("statistics for the planner", analysis(table(STAGED)))
    for name, query in parts.staged_audits:
        yield from writer.audit(f"audit {name}, by entities", query)
    rows = shuffled_in_parts(parts.release) if dialect.shuffles_in_parts else parts.release.copy()
    release = exp.Create(this=table(RELEASE), kind="TABLE", expression=rows)
    yield from rendered("the release", release, *dialect.release_properties)
    known.add((own[RELEASE],))
    if dialect.analyzes:
        yield from rendered("statistics for the planner", analysis(table(RELEASE)))
    for name, query in parts.audits:
        yield from writer.audit(f"audit {name}", query, stops=name != "row_count")
    if not dialect.temporary:
        for relation in created:
            yield from rendered("drop", exp.Drop(tables=[relation.copy()], kind="TABLE", exists=True))


def _listed(tree: exp.Expr, run: str) -> ListedRows | None:
    """Return the rows that a statement of the encoding lists, with the name of their table in the script."""
    listed = ListedRows.of(tree)
    return listed and replace(listed, relation=table(of_run(listed.relation.name, run)))


def _built(tree: exp.Expr, dialect: Dialect, lookups: str | None, run: str) -> Iterator[exp.Expr]:
    """Yield the tables that a statement of the encoding creates in a script."""
    listed = _listed(tree, run)
    if isinstance(tree, exp.Create):
        yield tree.this.copy()
    if listed is not None and as_file(listed, dialect, lookups):
        yield listed.loaded


def _check_columns(parts: ScriptParts, dialect: Dialect) -> None:
    """Raise UnsupportedError if the dialect does not take a name, or has other texts for the type of a column."""
    check_names(parts.released, dialect, released=True)
    check_distinct(sorted({*parts.released, *parts.types, *([parts.entity] if parts.entity else [])}), dialect)
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
    """Return the lookups without the values whose branch does not fit its field: their codes would be those of others.

    Those of sensitive columns are also without the values that no hierarchy lists: nothing else keeps these from being
    counted by their codes. Other statements are returned as they are.
    """
    if not isinstance(tree, exp.Create) or tree.this.name != names.LOOKUP:
        return tree
    conditions: list[exp.Expr] = []
    for level in range(max(item.height for item in items)):
        room = {i: number(1 << item.fields[level][2]) for i, item in enumerate(items) if level < item.height}
        conditions.append(exp.LT(this=column(branch(level)), expression=by_position(room, number(1))))
    sensitive = [position for position, item in enumerate(items) if item.sensitive]
    if sensitive:
        conditions.append(exp.or_(equal(column(COVERED), number(1)), exp.not_(among(sensitive))))
    narrowed = tree.copy()
    narrowed.set("expression", narrowed.expression.where(both(conditions), copy=False))
    return narrowed


def _lists_rows(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Insert) and isinstance(tree.expression, exp.Values)


def shuffled_in_parts(query: exp.Query) -> exp.Query:
    """Return the rows of a query that is ordered at random in another random order, which no worker sorts as a whole.

    Each row draws one of ``PARTS`` parts, and a place among the rows of its part. The condition on the place keeps the
    planner from leaving it out.
    """
    drawn, place, part = (names.PREFIX + name for name in ("drawn", "place", "part"))
    columns = [column(name) for name in query.named_selects]
    plain = query.copy()
    plain.set("order", None)
    number_of_part = exp.cast(exp.Floor(this=exp.Mul(this=exp.Rand(), expression=number(PARTS))), "BIGINT")
    draws = exp.select(*[item.copy() for item in columns], named(number_of_part, part), named(exp.Rand(), drawn))
    placed = exp.select(
        *[item.copy() for item in columns], named(row_number(column(drawn), partition=[column(part)]), place)
    ).from_(draws.from_(plain.subquery("rows")).subquery("drawn"))
    after = exp.GT(this=column(place), expression=number(0))
    return exp.select(*columns).from_(placed.subquery("placed")).where(after)
