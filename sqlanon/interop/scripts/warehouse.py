"""The parts of a script of a plan, for a warehouse that sqlanon does not reach.

``dialect_script.py`` and ``dialects/`` write them in a dialect.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

from sqlglot import exp

from sqlanon.core.audit.release import release_audits
from sqlanon.core.compiler.batch import literal_batch
from sqlanon.core.compiler.encode import record_counts
from sqlanon.core.disk.writing import write_files
from sqlanon.core.models.base import is_of_release, judges_persons
from sqlanon.core.plan.full_domain import Plan
from sqlanon.core.policy import Policy
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.publish.references import unplaced_audits
from sqlanon.core.publish.written_rows import release_query
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, named, or_zero, table
from sqlanon.errors import UnsupportedError
from sqlanon.interop.scripts.dialect_script import dialect_script, lookup_files
from sqlanon.interop.scripts.dialects import dialect_named
from sqlanon.interop.scripts.parts import NEIGHBOURS, RELEASE, STAGED, ScriptParts, neighbours, script_facts

_BY_SQLANON = "let sqlanon write the release (output: {file: …}, {table: …} or {view: …})."
REFUSED: tuple[tuple[Callable[[Policy], object], str, str], ...] = (
    (
        lambda policy: any(column.role in KEYED_ROLES for column in policy.columns),
        "A script would hold the key of its pseudonyms and shifted dates, or leave them out.",
        "give these columns the role drop, or let sqlanon write the release (output: {file: …}).",
    ),
    (
        lambda policy: policy.ledger is not None,
        "A script is run by others, whenever they like, and writes no release down in a ledger.",
        "let sqlanon write the release (output: {file: …}), or leave out ledger.",
    ),
    (
        lambda policy: policy.periods is not None,
        "A script knows no periods that were released before.",
        "let sqlanon write the release (output: {table: …}), or leave out periods.",
    ),
    (
        lambda policy: any(map(is_of_release, policy.models)),
        "A script judges classes one by one, and the policy has models of the whole release "
        "(average_risk, sample_uniqueness, population_uniqueness, …).",
        _BY_SQLANON,
    ),
    (
        lambda policy: judges_persons(policy.models),
        "A script judges classes of records, and the policy protects persons by all of their rows (profile_k).",
        _BY_SQLANON,
    ),
    (
        lambda policy: policy.suppressed == "redact",
        "A script leaves suppressed records out, and the policy says suppressed: redact.",
        "say suppressed: drop.",
    ),
    (
        lambda policy: policy.publish,
        "A script publishes texts, and the policy asks for numbers or dates (publish).",
        "remove publish, or let sqlanon write the release (output: {file: …}, {table: …} or {view: …}).",
    ),
    (
        lambda policy: any(column.travels for column in policy.columns),
        "A script reads records of later days, in which a column may say more than the one it travels with (with).",
        "give such columns the role drop, or let sqlanon write the release (output: {file: …}).",
    ),
    (
        lambda policy: any(column.redact for column in policy.columns),
        "A script calls no function of Python, and the policy redacts texts.",
        "drop such columns, or let sqlanon write the release (output: {file: …}).",
    ),
    (
        lambda policy: any(column.level is not None for column in policy.columns),
        "A script reads the columns of its table as they are, and the policy publishes some at a level.",
        "make these columns in a view of the source, or let sqlanon write the release (output: {file: …}).",
    ),
    (
        lambda policy: policy.sample is not None,
        "A script reads its table whole, and the policy draws a sample with a key.",
        "leave out sample, or let sqlanon write the release (output: {file: …}).",
    ),
    (
        lambda policy: policy.population is not None,
        "A script reads one table, and the policy names a population beside it (k-map).",
        "let sqlanon write the release; or make one view of both, name it as the source and the sample as its "
        "subset (delta_presence with subset: …).",
    ),
)
"""What no script of a warehouse does: whether a policy asks for it, why it is refused, and the cure."""


def script_in(
    plan: Plan, dialect: str, *, source_table: str | None = None, lookups: str | None = None, run: str | None = None
) -> str:
    """Return all SQL of a plan in a dialect (``dialects.DIALECTS``). It is for the operator: it contains hierarchies.

    These are the encoding, the verdicts of the chosen node and of its neighbours, the release, and its audits.

    Args:
        source_table: the name of the source in the warehouse; None: as the policy names it.
        lookups: a folder; lists of more than 500 rows are written there as CSV files, which the script loads. The
            script names it as it is given here.
        run: what the names of the script's tables hold; None: eight digits that no other script has.

    Raises:
        UnsupportedError: the dialect cannot write a statement, a type or a name.
        InputError: no table is named; or a hierarchy has more than 10,000 rows, and there is no folder.
        TargetError: the folder cannot be written.
    """
    parts = script_parts(plan, secrets.token_hex(4) if run is None else run)
    script = dialect_script(parts, dialect_named(dialect), source_table=source_table, lookups=lookups)
    if lookups is not None:
        write_files(Path(lookups), lookup_files(parts))
    return script


def refuse_script(policy: Policy) -> None:
    """Refuse, before any work, what no script of a warehouse does.

    Raises:
        UnsupportedError: the policy redacts suppressed records, publishes numbers or dates, needs a key, or is about
            persons by all of their rows; or it has a ledger of releases.
    """
    for is_asked, message, hint in REFUSED:
        if is_asked(policy):
            raise UnsupportedError(message, hint=hint)


def script_parts(plan: Plan, run: str = "") -> ScriptParts:
    """Return the parts of the script of a plan; ``run`` as ``script_in``.

    Raises:
        UnsupportedError: see ``refuse_script``.
    """
    refuse_script(plan.policy)
    session, catalog, released = plan._session, plan.catalog, plan.released
    heights = [a.height for a in catalog.attributes]
    nodes = [plan.node, *list(neighbours(plan.node, heights))[:NEIGHBOURS]]
    encoding, quasi = session.encoding, [a.name for a in catalog.attributes]
    rows, staged, claim = plan._release_query(), None, plan._claim()
    unplaced = unplaced_audits(plan.policy.models, encoding, catalog)
    if catalog.has_entity:
        staged = plan._release_query(entities=True)
        rows = exp.select(*[column(name) for name in released]).from_(table(STAGED))
    return ScriptParts(
        run=run,
        characters=_characters(plan),
        records=catalog.records,
        source=session.source.relation,
        source_name=plan.policy.table,
        entity=plan.policy.entity,
        types={item.name: item.type for item in encoding.source.items},
        items=encoding.source.items,
        encoding=[(name, tree if isinstance(tree, exp.Expr) else tree()) for name, tree in session.engine.replay],
        counts=record_counts(encoding.source.relation, encoding.source.taking_part),
        batch=literal_batch(plan.question, nodes, names.BASE),
        nodes=[", ".join(f"{name}={level}" for name, level in catalog.levels(node).items()) for node in nodes],
        release=release_query(rows, released, released, marker=None, redacted=0),
        released=list(released),
        staged=staged,
        staged_audits=[
            (audit.name, query)
            for audit in claim.models
            if staged
            for query in audit.queries(table(STAGED), quasi, names.ENTITY)
        ],
        audits=[
            *release_audits(table(RELEASE), claim.without_models() if staged else claim),
            *unplaced,
        ],
        facts=script_facts(catalog, plan.policy.table or plan.source_name),
    )  # fmt: skip


def _characters(plan: Plan) -> int:
    """Count the characters of all values of the columns that a script reads, as text."""
    read = {item.name for item in plan.policy.columns if item.role != "drop"}
    if plan.policy.entity is not None:
        read.add(plan.policy.entity)
    lengths = [or_zero(exp.Sum(this=exp.Length(this=exp.cast(column(name), "TEXT")))) for name in sorted(read)]
    query = exp.select(*[named(length, f"length_{i}") for i, length in enumerate(lengths)])
    rows = plan._session.engine.run("length of the columns", query.from_(plan._session.source.relation.copy()))
    return sum(int(length) for length in rows[0])
