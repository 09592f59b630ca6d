"""Decide the next state of releases in cohorts: who stays, who goes and who comes, from one reading of the source."""

from __future__ import annotations

import time
from collections.abc import Sequence

from sqlglot import exp

from sqlanon.core.audit.epochs import audit_changes, audit_state
from sqlanon.core.compiler.encoded_source import SOURCE, EntityColumn
from sqlanon.core.engines.base import Engine
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.models import for_source
from sqlanon.core.publish.ledger import Ledger
from sqlanon.core.search.base import Problem
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import (
    canonical,
    column,
    count_if,
    count_rows,
    equal,
    is_null,
    named,
    number,
    table,
    union_all,
)
from sqlanon.ledger.cohorts.plan import CohortCounts, CohortLedger, CohortPlan, certificate_of, class_counts
from sqlanon.ledger.cohorts.refusing import refuse_fewer_levels, refuse_loss
from sqlanon.ledger.cohorts.state import load_state
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.live.compiler.cohorts import Cohorts
from sqlanon.live.compiler.live_models import SensitiveColumn, counted_columns
from sqlanon.live.deciding import choose_chain, decide, problem_of_sizes, turn_of, work


def cohorts_of(session: Session) -> Cohorts:
    """Return the cohorts of a policy, whose rows stand in ``names.SHOWN`` as texts."""
    policy, catalog = session.policy, session.encoding.catalog
    models = for_source(policy.models, catalog)
    return Cohorts(
        published={item.name: "VARCHAR" for item in policy.columns if item.role != "drop"},
        quasi=tuple(item.name for item in policy.quasi_identifiers),
        models=models,
        persons=False,
        sensitive=tuple(SensitiveColumn(name, "VARCHAR") for name in counted_columns(models)),
        collation=session.engine.capabilities.texts.collation,
        shown=table(names.SHOWN),
        left=table(names.LEFT),
        erasing=True,
    )


def present_query(session: Session, chain: Sequence[Node]) -> exp.Query:
    """Return the records of the source that take part, as they would be shown at each node of a chain, as texts, with
    the digests of their keys; suppressed classes too."""
    assert session.policy.ledger is not None and session.policy.ledger.record is not None
    source, types = session.encoding.source.quasi, session.encoding.types
    key = EntityColumn(session.policy.ledger.record, session.source.types[session.policy.ledger.record])
    positions = {item.name: position for position, item in enumerate(source.items)}
    parts = []
    for place, node in enumerate(chain):
        cells = []
        for item in [item for item in session.policy.columns if item.role != "drop"]:
            if (position := positions.get(item.name)) is not None:
                text: exp.Expr = column(names.level(node[position]), names.lookup(position))
            else:
                text = canonical(item.name, types[item.name], SOURCE)
            cells.append(named(exp.cast(text, "VARCHAR"), item.name))
        person = column("person", "persons")
        own = [named(person.copy(), names.RECORD), named(person, names.PERSON), named(number(place), names.NODE_PLACE)]
        persons = table(names.LEDGER_PERSONS, "persons")
        parts.append(
            source.encoded([*cells, *own]).join(persons, on=equal(key.text(SOURCE), column("value", "persons")))
        )
    return union_all(parts)


def continued_plan(session: Session, ledger: ReleaseLedger) -> CohortPlan:
    """Return the plan of the next release in cohorts.

    Raises:
        InputError: the ledger holds no rows of the last release, or more than half of them would go.
        AuditError: the next state, or what it differs in, does not meet the models.
    """
    start = time.perf_counter()
    engine, spec = session.engine, session.policy.ledger
    assert spec is not None and spec.cohorts is not None
    engine.journal.report("searching")
    last = ledger.of_source()[-1]
    problem = problem_of_sizes(session)
    chain = tuple(tuple(map(int, node)) for node in last.entry.cohorts["chain"])
    refuse_fewer_levels(last, chain, [attribute.height for attribute in problem.catalog.attributes])
    if len(chain) == 1 and spec.cohorts.coarser_after is not None:
        chain = choose_chain(session, problem, chain[0])
    state = int(last.entry.cohorts["state"]) + 1
    cohorts = cohorts_of(session)
    of_source = [item.number for item in ledger.of_source()]
    load_state(ledger.database, engine, last, list(cohorts.published), of_source)
    decide(engine, cohorts, present_query(session, chain), turn_of(spec.cohorts, state, range(len(chain))))
    work(engine, names.NEXT, cohorts.following())
    following = table(names.NEXT)
    with engine.journal.phase("auditing"):
        audit_state(engine, following, list(cohorts.quasi), cohorts.models)
        audit_changes(engine, table(names.FATES), following, cohorts.models)
    found = engine.run("count cohorts", cohorts.counts(following))[0]
    joined, gone, withdrawn, held = (int(count or 0) for count in found)
    refuse_loss(session, ledger, gone + withdrawn, left=joined + last.entry.persons - gone - withdrawn)
    erased, along = (_among_shown(engine, name) for name in (names.ERASED, names.ALONG))
    counts = CohortCounts(joined, gone, withdrawn, held, _waiting(engine), erased, along)
    account = _account(engine, problem, list(cohorts.quasi), counts)
    places = exp.select(column(names.NODE_PLACE), count_rows()).from_(following.copy())
    at: dict[int, int] = dict(engine.run("places", places.group_by(column(names.NODE_PLACE))))
    _use_digests(engine)
    return CohortPlan(
        catalog=problem.catalog,
        certificate=certificate_of(problem, chain, at, account.records - account.excluded),
        seconds={**session.seconds, "search": time.perf_counter() - start},
        warnings=session.warnings,
        chain=chain,
        records_at=tuple(int(at.get(place, 0)) for place in range(len(chain))),
        state=state,
        base=last.number,
        counts=counts,
        hold=spec.cohorts.hold,
        _account=account,
        _session=session,
    )


def _use_digests(engine: Engine) -> None:
    """Let the persons of a release be known by their digests, which its rows hold: the source lacks some of them."""
    own = [named(column(names.RECORD), name) for name in ("value", "person")]
    engine.drop(names.LEDGER_PERSONS)
    engine.create(
        "persons of the ledger", names.LEDGER_PERSONS, exp.select(*own).from_(table(names.NEXT)), replayed=False
    )


def _account(engine: Engine, problem: Problem, quasi: Sequence[str], counts: CohortCounts) -> Ledger:
    """Return the account of the records of the source, and of those that are shown though it has them no longer."""
    catalog = problem.catalog
    sizes = exp.select(
        named(count_rows(), "a"),
        named(exp.Min(this=column(names.COUNT)), "b"),
        named(exp.Max(this=column(names.COUNT)), "c"),
        named(exp.Sum(this=column(names.COUNT)), "d"),
    )
    classes, smallest, largest, published = engine.run("published classes", sizes.from_(class_counts(quasi)))[0]
    met = equal(column(names.RECORD, "present"), column(names.RECORD, "next"))
    first = exp.select(column(names.RECORD)).from_(table(names.PRESENT))
    first = first.where(equal(column(names.NODE_PLACE), number(0)))
    absent = exp.select(count_if(is_null(column(names.RECORD, "present")))).from_(table(names.NEXT, "next"))
    gone = int(
        engine.run("absent records", absent.join(first.subquery("present"), on=met, join_type="left"))[0][0] or 0
    )
    published = int(published or 0)
    suppressed = catalog.population - (published - gone)
    return CohortLedger(
        records=catalog.records + gone,
        published=published,
        suppressed=suppressed,
        excluded=catalog.excluded,
        reasons={
            "failing_class": suppressed - catalog.uncovered,
            "uncovered": catalog.uncovered,
            "null": catalog.excluded,
        },
        classes=int(classes),
        smallest_class=None if smallest is None else int(smallest),
        largest_class=None if largest is None else int(largest),
        counts=counts,
    )


def _waiting(engine: Engine) -> int:
    """Return how many records of the source may come later."""
    waits = exp.select(named(count_rows(), "n")).from_(table(names.PRESENT, "present"))
    waits = waits.where(equal(column(names.NODE_PLACE, "present"), number(0)))
    for place, name in enumerate((names.SHOWN, names.LEFT, names.COMING, names.FAILED)):
        known = column(names.RECORD, f"known_{place}")
        waits = waits.join(
            table(name, f"known_{place}"), on=equal(known, column(names.RECORD, "present")), join_type="left"
        ).where(is_null(known.copy()))
    return int(engine.run("waiting records", waits)[0][0])


def _among_shown(engine: Engine, name: str) -> int:
    """Return how many records of a working table the last release showed."""
    met = equal(column(names.RECORD, "shown"), column(names.RECORD, "some"))
    count = exp.select(named(count_rows(), "n")).from_(table(name, "some")).join(table(names.SHOWN, "shown"), on=met)
    return int(engine.run("records that go", count)[0][0])
