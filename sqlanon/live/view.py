"""Live views: what a policy must meet for one, what they stand on, and how they are put in place and found again.

Beneath the view ``v`` stand the source, the lookups ``v_lookup_<i>`` of the quasi-identifiers that have one, and
``v_frozen``: the facts that it was created with (kind, name, value), by which ``refresh`` decides whether they still
hold. All are created in one transaction, and the view is audited in it, as it will be read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from sqlglot import exp

from sqlanon.core.audit.release import ReleaseClaim, audit_entities, audit_release
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.replay import rows_of
from sqlanon.core.interrupts import no_return
from sqlanon.core.lattice.catalog import Catalog
from sqlanon.core.models.base import is_of_release
from sqlanon.core.policy import Output, Policy
from sqlanon.core.policy.columns import KEYED_ROLES
from sqlanon.core.publish.targets import FACT_COLUMNS, FROZEN, LEFT, LOOKUP, SHOWN, frozen_tables, place, tables_beneath
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import column, count_rows, table
from sqlanon.errors import EngineError, InputError, SourceChangedError, TargetError, UnsupportedError
from sqlanon.live.compiler.live import VALUE, live_view, member_flag
from sqlanon.live.compiler.live_models import (
    SNAPSHOT,
    FrozenColumn,
    LiveView,
    SensitiveColumn,
    counted_columns,
    refuse_models,
)
from sqlanon.live.epochs import (
    Places,
    begin,
    compare_states,
    epoch_view,
    facts_of_epoch,
    first_state,
    keep_state,
    number_now,
)
from sqlanon.live.facts import Fact, frozen_facts, levels_of
from sqlanon.live.lookups import has_lookup, sensitive_with_lookup, told_by_hierarchy

if TYPE_CHECKING:  # loaded where a view is replaced
    from sqlanon.core.publish.replaced import Replacing

KIND = "live_view"
Kept = tuple[exp.Select, dict[str, tuple[str, str]]]
"""What an earlier view shows, and the quasi-identifiers whose levels differ, with both."""


def refuse_policy(policy: Policy) -> None:
    """Refuse what a live view does not support, before any work.

    Raises:
        UnsupportedError: names it and the alternative.
    """
    limit = instead = ""
    if policy.transformation is not None:
        limit, instead = "publishes one node, no transformation", "leave out the transformation"
    elif policy.suppressed == "redact":
        limit, instead = "leaves suppressed records out and cannot redact them", "say suppressed: drop"
    elif any(column.role in KEYED_ROLES for column in policy.columns):
        limit = "is read by anyone who may, and would need the key of its pseudonyms and shifted dates in the database"
        instead = "give these columns the role drop"
    elif any(column.redact for column in policy.columns):
        limit, instead = "reads texts of later days, which nothing has redacted", "drop such columns"
    elif any(column.level is not None for column in policy.columns):
        limit = "reads the columns of its source as they are, and the policy publishes some at a level"
        instead = "make these columns in a view of the source"
    elif policy.sample is not None:
        limit = "reads records of later days, and would need the key of the sample in the database"
        instead = "leave out sample"
    elif policy.periods is not None:
        limit, instead = "shows periods that are not closed, and judges closed ones again", "leave out periods"
    elif policy.ledger is not None:
        limit = "shows other records on every read, so that no ledger can say whom it has shown in which class"
        instead = "leave out ledger"
    elif any(column.travels for column in policy.columns):
        limit = "reads records of later days, in which a column may say more than the one it travels with (with)"
        instead = "give such columns the role drop"
    elif any(map(is_of_release, policy.models)):
        limit = "judges classes one by one, and the policy has models of the whole release"
        instead = "publish a table or a file"
    elif policy.publish:
        limit, instead = "publishes texts, and no numbers or dates beside them (publish)", "remove publish"
    elif policy.join:
        limit = "reads one relation, and the policy joins several"
        instead = "make a view of the join in the database and name it as the table"
    elif any(policy.uncovered_of(c) == "top" for c in policy.quasi_identifiers):
        limit = "suppresses what no hierarchy lists; it cannot publish it at the root (uncovered: top)"
        instead = "say uncovered: suppress, or list the values"
    elif policy.subset is not None and "column" not in policy.subset:
        limit = "reads the subset from a column of the source only"
        instead = "say subset: {column: …}"
    if limit:
        raise UnsupportedError(f"A live view {limit}.", hint=f"{instead}, or {SNAPSHOT}.")
    refuse_models(policy.models)


def check_live(opened: Source, policy: Policy, output: Output) -> Place:
    """Return the place of a live view, after every check that needs no work.

    Raises:
        UnsupportedError: see ``refuse_policy``; or the engine has no live views, or the source has row-level security,
            or the text of a quasi-identifier depends on settings of the session that reads.
        TargetError: the source is not in the database of the view, or the view or its lookups would replace relations
            that sqlanon did not create.
    """
    refuse_policy(policy)
    engine = opened.engine
    engine.capabilities.require("live_views")
    _refuse_types(opened, policy)
    if policy.subset is not None and (name := policy.subset["column"]) in opened.types:
        member_flag(name, opened.types[name])
    where = place(engine, output.target, opened.target_catalog)
    source = source_place(opened)
    if source is None:
        raise TargetError(
            "A live view reads a table of its own database, and the source is a file.",
            hint=f"load it into a database, or {SNAPSHOT}.",
        )
    if source.catalog.casefold() != where.catalog.casefold():
        raise TargetError(
            f"The source is in the database {source.catalog!r}, the live view would be in {where.catalog!r}.",
            hint="name a target in the database of the source.",
        )
    if engine.catalog.differs_by_reader(source):
        raise UnsupportedError(
            "A live view cannot be audited over row-level security: the source, or a table beneath it, shows each role "
            "other rows.",
            hint=f"{SNAPSHOT}, or copy the rows that may be published into a table without it.",
        )
    kind = engine.catalog.existing(where)
    if kind and policy.if_exists == "replace" and not (kind == "view" and tables_beneath(engine, where)):
        raise TargetError(
            f"The relation {where.schema}.{where.name} is a {kind}, and no view that sqlanon created.",
            hint="choose another name for the live view, or drop it yourself.",
        )
    if not frozen_tables(engine, where):
        most = len(policy.quasi_identifiers) + len(sensitive_with_lookup(policy))
        lookups = [_lookup(where, position) for position in range(most)]
        endings = (FROZEN, SHOWN, LEFT) if output.epoch is not None else (FROZEN,)
        for beneath in (*(where.named(where.name + ending) for ending in endings), *lookups):
            if engine.catalog.existing(beneath):
                raise TargetError(
                    f"The relation {beneath.schema}.{beneath.name}, which would stand beneath the live view, exists.",
                    hint="choose another name for the view, or drop it yourself.",
                )
    return where


def _refuse_types(opened: Source, policy: Policy) -> None:
    """Refuse types whose text depends on the session.

    Elsewhere such a type may be cast to text in a view of the source; here the cast would be evaluated on every read,
    with the settings of whoever reads.

    Raises:
        UnsupportedError: names the column, its type and the alternative.
    """
    texts = opened.engine.capabilities.texts
    counted = counted_columns(policy.models)
    for spec in (*policy.quasi_identifiers, *(c for c in policy.columns if c.name in counted)):
        type_name = opened.types.get(spec.name)
        if type_name is not None and not texts.comparable(type_name):
            raise UnsupportedError(
                f"A live view cannot distinguish the values of column {spec.name!r}: how the type "
                f"{type_name.split('(')[0]} reads depends on settings of the session that reads.",
                hint=f"keep it as text in the source (not by a cast in a view), or cast it in a view and {SNAPSHOT}.",
            )


def source_place(opened: Source) -> Place | None:
    """Return the full name of a source that is a relation of a database; None for a file."""
    relation = opened.stored or opened.relation
    lies = opened.path is None or opened.target_catalog is not None
    if not lies or not isinstance(relation, exp.Table) or not isinstance(relation.this, exp.Identifier):
        return None
    return place(opened.engine, relation, opened.target_catalog if relation.db else None)


def frozen_view(
    policy: Policy, opened: Source, where: Place, node: Sequence[int], released: Mapping[str, str],
    heights: Mapping[str, int],
) -> LiveView:  # fmt: skip
    """Return the live view at ``where`` of a source at a node.

    Args:
        opened: the source; it is named in full, for a view may be read where other schemas are looked through.
        released: the columns of the view with their types, in order.
        heights: of the hierarchies of the sensitive columns.
    """
    place = source_place(opened)
    relation = place.table if place is not None and opened.engine.catalog.existing(place) else opened.relation
    quasi, lookups = [], 0
    for spec, level in zip(policy.quasi_identifiers, node, strict=True):
        lookup = None
        if has_lookup(spec.hierarchy, level):
            lookup = _lookup(where, lookups).table
            lookups += 1
        by_value = opened.engine.capabilities.texts.by_value(opened.types[spec.name])
        quasi.append(FrozenColumn(spec.name, opened.types[spec.name], lookup, by_value=by_value))
    sensitive = _sensitive(policy, opened, heights, [_lookup(where, lookups + i) for i in range(len(heights))])
    view = _view(policy, relation, opened.types, tuple(quasi), released)
    return replace(view, sensitive=sensitive, collation=opened.engine.capabilities.texts.collation)


def _sensitive(
    policy: Policy, opened: Source, heights: Mapping[str, int], places: Sequence[Place]
) -> tuple[SensitiveColumn, ...]:
    """Return the columns whose histograms the models look at; ``places``: of the lookups, in order."""
    specs = {spec.name: spec for spec in policy.columns}
    beneath = {spec.name: place for spec, place in zip(sensitive_with_lookup(policy), places, strict=False)}
    sensitive = []
    for name in counted_columns(policy.models):
        by_tree, placed = told_by_hierarchy(policy, specs[name])
        sensitive.append(
            SensitiveColumn(
                name,
                opened.types[name],
                beneath[name].table if name in beneath else None,
                levels=heights[name] - 1 if by_tree else 0,
                placed=placed,
                by_value=opened.engine.capabilities.texts.by_value(opened.types[name]),
            )
        )
    return tuple(sensitive)


def heights_of(catalog: Catalog) -> dict[str, int]:
    """Return the heights of the hierarchies of the sensitive columns."""
    return {attribute.name: attribute.height for attribute in catalog.sensitive}


def counted_view(policy: Policy, opened: Source) -> LiveView:
    """Return the live view without its lookups: enough to count the records of the source that take part."""
    quasi = tuple(FrozenColumn(c.name, opened.types[c.name], None) for c in policy.quasi_identifiers)
    return _view(policy, opened.relation, opened.types, quasi, {})


def _view(
    policy: Policy, relation: exp.Expr, types: Mapping[str, str], quasi: tuple[FrozenColumn, ...],
    released: Mapping[str, str],
) -> LiveView:  # fmt: skip
    member = (policy.subset or {}).get("column")
    return LiveView(
        source=relation,
        quasi=quasi,
        published=released,
        models=policy.models,
        basic=policy.nulls == "basic",
        entity=policy.entity,
        member=member,
        member_type=types[member] if member is not None else "BOOLEAN",
    )


def _lookup(where: Place, position: int) -> Place:
    return where.named(f"{where.name}{LOOKUP}{position}")


@dataclass(frozen=True, slots=True)
class LiveDraft:
    """The draft of a live view, from which it is put in place.

    Attributes:
        frozen: per column with a lookup, in order, the relation of its rows; of each node of a chain, if there is one.
        claim: what the view claims, with its models also where entities are counted.
        verify_source: raises SourceChangedError; called last.
        output: the target, with its owner and readers.
        replacing: compares the view with an earlier one that it replaces.
    """

    view: LiveView
    frozen: Sequence[Mapping[str, exp.Expr]]
    facts: Sequence[Fact]
    claim: ReleaseClaim
    verify_source: Callable[[], None]
    output: Output
    replacing: Replacing | None = None


def publish_live(engine: Engine, where: Place, draft: LiveDraft) -> tuple[str, ...]:
    """Create lookups and view, audit the view, commit; an earlier one is dropped in the same transaction.

    Returns warnings: of an earlier view, what it reveals together with this one.

    Raises:
        SourceChangedError: the view holds another number of records than the plan.
        AuditError: it does not satisfy the policy.
        EngineError: the database refused a statement. In all cases, the old view stays.
    """
    earlier = draft.output.epoch is not None and keep_state(engine, where)
    old = _keep_shown(engine, where, draft)
    epoch = epoch_view(draft.view, where, draft.output, tuple(draft.frozen))
    first = None if epoch is None else first_state(engine, epoch)
    with engine.transaction():
        engine.targets.make_schema(where)
        drop_old(engine, where)
        lookups, places = write_lookups(engine, where, draft.frozen)
        facts = [*draft.facts, *lookups]
        beneath = [where.named(name) for _, name, _ in lookups]
        shown = live_view(draft.view) if epoch is None else epoch.select()
        if epoch is not None and first is not None:
            beneath += begin(engine, where, epoch, first)
            facts += facts_of_epoch(where, number=number_now(engine, draft.output), places=places)
        beneath.append(write_facts(engine, where, facts))
        engine.targets.create_view(where, shown)
        with engine.journal.phase("auditing"):
            _audit(engine, where.table, draft, old)
            if epoch is None:
                _audit_entities(engine, draft)
        warnings = compare_states(engine, epoch) if epoch is not None and earlier else ()
        draft.verify_source()
        engine.targets.hand_over(where, beneath, draft.output.owner, draft.output.readers)
        if draft.output.owner is not None:
            _refuse_owner(engine, where, draft)
        no_return()
    if old is not None:
        with suppress(EngineError):  # the view stands
            engine.drop(names.REPLACED)
    return warnings if draft.replacing is None else (*warnings, *draft.replacing.warnings)


def write_lookups(
    engine: Engine, where: Place, frozen: Sequence[Mapping[str, exp.Expr]], old: Sequence[Fact] = ()
) -> tuple[list[Fact], Places]:
    """Write the lookups of the nodes of a view, each once, and return the facts and what each node has.

    Args:
        old: the facts of other lookups of the view, whose numbers are taken.
    """
    first = 1 + max((int(name.rpartition(LOOKUP)[2]) for _, name, _ in old), default=-1)
    facts: list[Fact] = []
    written: dict[str, exp.Table] = {}
    for name, rows in [item for at in frozen for item in at.items()]:
        if rows.name not in written:
            lookup = _lookup(where, first + len(written))
            written[rows.name] = lookup.table
            facts.append(("lookup", lookup.name, name))
            query = exp.select("*").from_(rows.copy()).order_by(column(VALUE))
            engine.run("write lookup", _table(lookup, query))
            engine.targets.analyze(lookup.table)
    return facts, tuple({name: written[rows.name] for name, rows in at.items()} for at in frozen)


def write_facts(engine: Engine, where: Place, facts: Sequence[Fact]) -> Place:
    """Write the facts that a view is created with, and return their place."""
    table = where.named(where.name + FROZEN)
    engine.run("write facts", _table(table, fact_rows(facts)))
    return table


def fact_rows(facts: Sequence[Fact]) -> exp.Query:
    """Return facts as the rows of their table."""
    columns = zip(FACT_COLUMNS, zip(*facts, strict=True), strict=True)
    return rows_of(pa.table({name: pa.array(texts, pa.string()) for name, texts in columns}))


def _keep_shown(engine: Engine, where: Place, draft: LiveDraft) -> Kept | None:
    """Keep what a view shows that is replaced (``names.REPLACED``); None where there is nothing to compare."""
    if draft.replacing is None or draft.output.epoch is not None or engine.catalog.existing(where) is None:
        return None
    shown = draft.replacing.rows(engine, lambda: where.table, draft.claim)
    if shown is None:
        return None
    facts = frozen_facts(engine, where) if frozen_tables(engine, where) else None
    before, now = levels_of(facts or []), levels_of(draft.facts)
    others = {name: (before[name], level) for name, level in now.items() if before.get(name, level) != level}
    engine.create("keep old view", names.REPLACED, shown, replayed=False)
    return exp.select(*map(column, shown.named_selects)).from_(table(names.REPLACED)), others


def _refuse_owner(engine: Engine, where: Place, draft: LiveDraft) -> None:
    """Refuse an owner through whom the view reads other records: it reads its source with the rights of its owner.

    Raises:
        TargetError: the owner has none, or other ones.
    """
    try:
        rows = _count(engine, "read as owner", where.table)
    except EngineError:
        rows = None
    if rows is None:
        raise TargetError(
            f"The live view cannot be read once it belongs to {draft.output.owner!r}, who may not read the source.",
            hint="grant SELECT on the source to the owner, or leave out owner.",
        )
    if rows != draft.claim.published:
        raise TargetError(
            f"The live view shows {rows} records once it belongs to {draft.output.owner!r}, and "
            f"{draft.claim.published} before.",
            hint=f"{SNAPSHOT}, or leave out owner.",
        )


def _count(engine: Engine, name: str, relation: exp.Expr) -> int:
    return int(engine.run(name, exp.select(count_rows()).from_(relation.copy()))[0][0])


def drop_old(engine: Engine, where: Place, *, but: Collection[str] = ()) -> None:
    """Drop the view and all that it stood on, if they are ours: the lookups of a live one, the table of a snapshot.

    Args:
        but: the names of tables that stay.
    """
    beneath = tables_beneath(engine, where)
    if beneath and engine.catalog.existing(where) == "view":
        engine.run("drop old view", exp.Drop(tables=[where.table], kind="VIEW"))
    for old in [old for old in beneath if old.name not in but]:
        engine.run("drop old lookups", exp.Drop(tables=[old.table], kind="TABLE"))


def _table(where: Place, query: exp.Query) -> exp.Create:
    return exp.Create(this=where.table, kind="TABLE", expression=query)


def _audit(engine: Engine, relation: exp.Expr, draft: LiveDraft, old: Kept | None) -> None:
    # read once: every audit would join, sort and shuffle the whole source again
    relation = engine.read_once("read live view", names.READ_LIVE, relation)
    rows = _count(engine, "count written rows", relation)
    if rows != draft.claim.published:
        raise SourceChangedError(
            f"The live view holds {rows} records where the plan has {draft.claim.published}: the source changed "
            "between planning and publication.",
            hint="run again when nothing writes to it; the old view, if there was one, stays.",
        )
    claim = draft.claim if draft.view.entity is None else draft.claim.without_models()
    audit_release(engine, relation, claim)
    if draft.replacing is not None and old is not None:
        from sqlanon.core.publish.replaced import ReplacedRelease

        draft.replacing.compare(engine, old[0], relation, claim, ReplacedRelease(old[1]))
    engine.drop(names.READ_LIVE)


def _audit_entities(engine: Engine, draft: LiveDraft) -> None:
    """Audit, with an entity, the same rows once more with their entities, which the view does not hold."""
    if draft.view.entity is None:
        return
    rows = live_view(replace(draft.view, shuffled=False, with_entities=True)).subquery("rows")
    audit_entities(engine, rows, draft.claim, entity=names.ENTITY)


def live_output(policy: Policy) -> Output:
    """Return the output of a policy that publishes a live view.

    Raises:
        InputError: it publishes something else.
    """
    if policy.output is None or policy.output.kind != KIND:
        raise InputError(
            "The policy publishes no live view, so there is nothing to refresh.",
            hint="say output: {live_view: schema.name}, or publish a new snapshot by `sqlanon run`.",
        )
    return policy.output
