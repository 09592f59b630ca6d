"""Releases in cohorts: what a policy and its ledger must meet, and what is recorded of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.core.compiler.encoded_source import EntityColumn
from sqlanon.core.compiler.members import rows_of_members
from sqlanon.core.evaluate.session import Session
from sqlanon.core.lattice.nodes import Node
from sqlanon.core.policy import Policy
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import canonical, column, named, number, table, union_all
from sqlanon.errors import InputError
from sqlanon.ledger.cohorts.continuing import cohorts_of, present_query
from sqlanon.ledger.cohorts.histories import holds_histories
from sqlanon.ledger.cohorts.plan import CohortCounts, CohortPlan
from sqlanon.ledger.cohorts.refusing import refuse_others
from sqlanon.ledger.cohorts.state import CohortState
from sqlanon.ledger.entries import read_releases
from sqlanon.ledger.releases import ReleaseLedger
from sqlanon.ledger.together import refuse_strangers
from sqlanon.live.compiler.cohorts import nothing
from sqlanon.live.deciding import judge_first, work


def in_cohorts(policy: Policy) -> bool:
    """Return whether a policy releases records in cohorts."""
    return policy.ledger is not None and policy.ledger.cohorts is not None


def check_continued(ledger: ReleaseLedger, policy: Policy, opened: Source) -> None:
    """Check that a release in cohorts can continue the earlier ones of its ledger.

    Raises:
        InputError: some were not released in cohorts, the policy is another one than that of the last, or hardly
            anybody of it is known again.
    """
    earlier = ledger.of_source()
    if others := [item.number for item in earlier if not item.entry.cohorts]:
        raise InputError(
            f"Release {others[0]} of the ledger was not released in cohorts, so that none continues it.",
            hint="leave out cohorts; or begin another ledger, if nobody has both releases. If nobody has that one, "
            f"forget it: sqlanon ledger forget POLICY {others[0]}.",
        )
    refuse_others(ledger, policy, opened)
    refuse_strangers(ledger, opened, earlier[-1:])


def earlier_members(ledger: ReleaseLedger, session: Session) -> list[exp.Expr]:
    """Load the members of each release that somebody may have beside the new one; in cohorts, all histories."""
    engine, earlier = session.engine, ledger.earlier()
    if earlier and holds_histories(ledger.database, earlier[-1].number):
        return [ledger.load_members(engine, earlier[-1], of_all=True)]
    return [ledger.load_members(engine, release) for release in earlier]


def refuse_moved(ledger: ReleaseLedger, policy: Policy) -> None:
    """Raise InputError where a first release might be the next one of a source that changed its path or table."""
    if not ledger.database.attached or policy.ledger is None or policy.ledger.source is not None:
        return
    if others := [item.number for item in read_releases(ledger.database) if item.entry.cohorts]:
        raise InputError(
            f"The ledger holds releases in cohorts of another source (release {others[-1]}), and none of this one. If "
            "it is the same under another path or table, who left would be shown again.",
            hint="name it: ledger: {…, source: NAME}. The name that `sqlanon ledger show` lists for that release "
            "continues it; another source takes a new one.",
        )


@dataclass(frozen=True, slots=True)
class CohortRecording:
    """The record of a release in cohorts.

    Attributes:
        chain: the nodes at which cohorts are published.
        state: its number among the releases in cohorts.
        base: the number of the release that it continues; None for the first.
        counts: what it did; None for the first.
    """

    chain: tuple[Node, ...]
    state: int = 1
    base: int | None = None
    counts: CohortCounts | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Its facts in the ledger, beside its rows."""
        return {"chain": [list(node) for node in self.chain], "state": self.state}

    def read(self, session: Session, numbered: exp.Expr, entity: EntityColumn, types: Mapping[str, str]) -> CohortState:
        """Return the state that the next release continues.

        Args:
            numbered: the rows of the first release with their keys and the numbers of their classes.
            types: of the published columns.
        """
        engine = session.engine
        if self.base is None:
            self._begin(session, numbered, entity, types)
            left: list[exp.Query] = [_records(names.FAILED)]
        else:
            left = [_records(names.GONE), _records(names.FAILED)]
        cells = cohorts_of(session).published
        own = (names.RECORD, names.COHORT, names.NODE_PLACE, names.SINCE)
        shown = names.SHOWN if self.base is None else names.NEXT
        rows = engine.arrow("rows of the release", exp.select(*map(column, (*cells, *own))).from_(table(shown)))
        return CohortState(self.base, rows, engine.arrow("records that left", _distinct(left)))

    def _begin(self, session: Session, numbered: exp.Expr, entity: EntityColumn, types: Mapping[str, str]) -> None:
        """Load the rows of the first release as ``names.SHOWN``, a class a cohort.

        Where models judge values, records of a class that was large enough and did not pass never come.
        """
        engine, cohorts = session.engine, cohorts_of(session)
        cells = [named(exp.cast(canonical(n, types[n], "rows"), "VARCHAR"), n) for n in cohorts.published]
        person = column(names.PERSON, "rows")
        own = [
            named(person, names.RECORD),
            named(person.copy(), names.PERSON),
            named(column(names.LEDGER_CLASS, "rows"), names.COHORT),
            named(exp.cast(number(0), "BIGINT"), names.NODE_PLACE),
            named(nothing(), names.SINCE),
        ]
        rows = rows_of_members(numbered, entity).subquery("rows")
        work(engine, names.SHOWN, exp.select(*cells, *own).from_(rows))
        work(engine, names.LEFT, _records(names.SHOWN).where(exp.false()))
        judge_first(engine, cohorts, present_query(session, self.chain))


def recording_in_cohorts(ledger: ReleaseLedger, plan: Any) -> CohortRecording:
    """Return the record of a plan in cohorts.

    Raises:
        InputError: the plan does not continue the last release.
    """
    earlier = ledger.of_source()
    if not isinstance(plan, CohortPlan):
        if earlier:
            raise InputError(
                "This plan does not continue the releases in cohorts that the ledger holds.",
                hint="publish by `sqlanon run`, or sqlanon.anonymize.",
            )
        return CohortRecording((plan.node,))
    if plan.base != earlier[-1].number:
        raise InputError("Another release was recorded since this plan was made.", hint="make a new plan.")
    return CohortRecording(plan.chain, plan.state, plan.base, plan.counts)


def _distinct(left: list[exp.Query]) -> exp.Select:
    return exp.select(named(column(names.RECORD), "person")).distinct().from_(union_all(left).subquery("left_out"))


def _records(name: str) -> exp.Select:
    """Return the records of a working table."""
    return exp.select(column(names.RECORD)).from_(table(name))
