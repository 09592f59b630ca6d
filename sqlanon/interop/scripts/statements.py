"""The statements of a script in a dialect: the encoding, the verdicts of some nodes, the release, and its audits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import Template

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import COVERED, EncodedColumn, branch
from sqlanon.core.engines.replay import analysis
from sqlanon.core.engines.sqlite.joins import part_prefix
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.files import read
from sqlanon.core.sqltrees.trees import among, both, by_position, column, equal, named, number, row_number, table, total
from sqlanon.errors import UnsupportedError
from sqlanon.interop.scripts.dialects.base import Dialect
from sqlanon.interop.scripts.dialects.rendering import check_distinct, check_names, render, render_rows
from sqlanon.interop.scripts.listed_rows import ListedRows, as_file, check_folder
from sqlanon.interop.scripts.parts import RELEASE, STAGED, ScriptParts, of_run
from sqlanon.interop.scripts.script_source import (
    check_relations,
    is_source,
    parts_of,
    replace_source,
    warehouse_table,
    with_entity,
)

PARTS = 4096
"""The parts that the rows of a release are shuffled in, where no database sorts them as a whole."""


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
    created = [tree.this.name for _, tree in encoding_of(parts) if isinstance(tree, exp.Create)]
    own = {name: of_run(name, parts.run) for name in (*created, RELEASE, STAGED)}
    writer = _Writer(parts, dialect, lookups, records, {parts_of(wanted)}, own)
    for position, text in enumerate(dialect.preamble):
        yield ScriptStatement("prepare the session" if not position else "and", text)
    yield from writer.drops_of_earlier_runs()
    yield from writer.encoding()
    yield from writer.counts()
    yield from writer.staged_rows()
    yield from writer.release()
    yield from writer.drops_of_working_tables()


@dataclass(frozen=True, slots=True)
class _Writer:
    """Writes the statements of a script in its dialect.

    Attributes:
        lookups: the folder of the files of long lists of rows, if there is one.
        records: stands in the place of the source that was planned on.
        known: the relations that a statement may read.
        own: the names of our tables in the script.
        indexed: the indexes that were created.
        created: the working tables, which are dropped at the end.
    """

    parts: ScriptParts
    dialect: Dialect
    lookups: str | None
    records: exp.Expr
    known: set[tuple[str, ...]]
    own: Mapping[str, str]
    indexed: set[str] = field(default_factory=set)
    created: list[exp.Expr] = field(default_factory=list)

    def drops_of_earlier_runs(self) -> Iterator[ScriptStatement]:
        """Yield the statements that drop the tables that a run that failed has left."""
        built = [relation for _, tree in encoding_of(self.parts) for relation in self._built(tree)]
        for relation in [*built, *([table(STAGED)] if self.parts.staged is not None else []), table(RELEASE)]:
            yield from self.drop("drop what is left of an earlier run", relation)

    def encoding(self) -> Iterator[ScriptStatement]:
        """Yield the statements that encode the source."""
        encoding = list(encoding_of(self.parts))
        last_write = {_relation(tree).name: position for position, (_, tree) in enumerate(encoding)}
        for position, (title, tree) in enumerate(encoding):
            if isinstance(tree, exp.Create):
                self.known.add((self.own[tree.this.name],))
                self.created.append(tree.this)
            listed = rows_listed(tree, self.parts.run)
            if listed is not None:
                yield from self.listed(title, listed, self.lookups)
            else:
                plain = _without_wide_codes(tree, self.parts.items).copy()
                if isinstance(plain, exp.Create):
                    plain.set("properties", None)
                yield from self.statements(title, plain, *self.properties(plain))
            if last_write[_relation(tree).name] == position:
                yield from self.statistics(_relation(tree))

    def counts(self) -> Iterator[ScriptStatement]:
        """Yield the statements that count the records and judge some nodes."""
        parts = self.parts
        with_entities = " that are of an entity" if parts.entity is not None else ""
        yield from self.statements(f"records of the source{with_entities}, and those that take part", parts.counts)
        encoded = exp.select(named(total(column(names.COUNT)), "encoded")).from_(table(names.BASE))
        yield from self.statements("records that were encoded", encoded)
        judged = "; ".join(f"{i}: {node}" for i, node in enumerate(parts.nodes))
        yield from self.statements(f"the verdicts of some nodes ({judged})", parts.batch)

    def staged_rows(self) -> Iterator[ScriptStatement]:
        """Yield the statements of the released rows with their entities, and the audits over them."""
        if self.parts.staged is not None:
            self.known.add((self.own[STAGED],))
            staged = exp.Create(this=table(STAGED), kind="TABLE", expression=self.parts.staged.copy())
            self.created.append(staged.this)
            titled = "the rows of the release, with their entities"
            yield from self.statements(titled, staged, *self.properties(staged))
            yield from self.statistics(table(STAGED))
        for name, query in self.parts.staged_audits:
            yield from self.audit(f"audit {name}, by entities", query)

    def release(self) -> Iterator[ScriptStatement]:
        """Yield the statements of the release, and its audits."""
        rows = self.parts.release
        rows = shuffled_in_parts(rows) if self.dialect.shuffles_in_parts else rows.copy()
        release = exp.Create(this=table(RELEASE), kind="TABLE", expression=rows)
        yield from self.statements("the release", release, *self.dialect.release_properties)
        self.known.add((self.own[RELEASE],))
        yield from self.statistics(table(RELEASE))
        for name, query in self.parts.audits:
            yield from self.audit(f"audit {name}", query, stops=name != "row_count")

    def drops_of_working_tables(self) -> Iterator[ScriptStatement]:
        """Yield the statements that drop the working tables where the session does not."""
        if not self.dialect.temporary:
            for relation in self.created:
                yield from self.drop("drop", relation.copy())

    def drop(self, title: str, relation: exp.Expr) -> Iterator[ScriptStatement]:
        """Yield the statements that drop a table, if it is there."""
        yield from self.statements(title, exp.Drop(tables=[relation], kind="TABLE", exists=True))

    def statistics(self, relation: exp.Expr) -> Iterator[ScriptStatement]:
        """Yield the statement that tells the planner of a table, where it asks for one."""
        if self.dialect.analyzes:
            yield from self.statements("statistics for the planner", analysis(relation))

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
        yield from self.drop("drop", listed.loaded)

    def statements(self, title: str, tree: exp.Expr, *properties: exp.Expr) -> Iterator[ScriptStatement]:
        """Yield the statements that the dialect has for one; ``properties`` are those of the table that it creates."""
        titled = " ".join(title.split())
        if _lists_rows(tree):
            into = table(self.own.get(tree.this.name, tree.this.name))
            yield ScriptStatement(titled, render_rows(exp.Insert(this=into, expression=tree.expression), self.dialect))
            return
        temporary = [exp.TemporaryProperty()] if self.dialect.temporary else []
        for step, piece in self.dialect.steps(replace_source(tree, self.parts.source, self.records, self.own)):
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

    def _built(self, tree: exp.Expr) -> Iterator[exp.Expr]:
        """Yield the tables that a statement of the encoding creates in a script."""
        listed = rows_listed(tree, self.parts.run)
        if isinstance(tree, exp.Create):
            yield tree.this.copy()
        if listed is not None and as_file(listed, self.dialect, self.lookups):
            yield listed.loaded


def rows_listed(tree: exp.Expr, run: str) -> ListedRows | None:
    """Return the rows that a statement of the encoding lists, with the name of their table in the script."""
    listed = ListedRows.of(tree)
    return listed and replace(listed, relation=table(of_run(listed.relation.name, run)))


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


def encoding_of(parts: ScriptParts) -> Iterator[tuple[str, exp.Expr]]:
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
