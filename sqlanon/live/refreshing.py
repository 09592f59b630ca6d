"""Refresh a live view: check whether it still serves, and if not, put a new plan in its place.

What is published is safe at every moment, for the view counts its classes itself. What ages is its use: values that
came later have no row in a lookup, and classes that shrank are left out. When the view loses more than the policy
allows, the source is planned anew, and lookups and view are replaced in one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.core.anonymizer import anonymize, encoded_session, plan_of
from sqlanon.core.engines.base import Engine, Place
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.policy import Output, Policy, PolicyLike, as_policy
from sqlanon.core.publish.targets import FROZEN, SHOWN
from sqlanon.core.source.columns import check_columns
from sqlanon.core.source.joining import open_policy_source
from sqlanon.core.source.opening import Source
from sqlanon.core.sqltrees import names
from sqlanon.core.sqltrees.trees import count_rows
from sqlanon.errors import EngineError, InputError
from sqlanon.live.compiler.live import losing, persons, takes_part
from sqlanon.live.compiler.live_models import LiveView
from sqlanon.live.epochs import (
    EPOCH,
    NUMBER,
    STATE,
    EpochStep,
    advance,
    epoch_view,
    facts_of_epoch,
    is_complete,
    number_now,
    places_of,
    read_state,
    same_state,
)
from sqlanon.live.facts import Fact, facts_of, frozen_facts, levels_of, question_of
from sqlanon.live.renewing import refuse_others
from sqlanon.live.renewing import renew as renew_view
from sqlanon.live.view import (
    KIND,
    check_live,
    counted_view,
    fact_rows,
    frozen_view,
    live_output,
    refuse_policy,
    source_place,
)

REASONS: Mapping[str, str] = {
    "missing": "there is no live view",
    "unreadable": "the live view cannot be read any more",
    "earlier": "an earlier build made the live view, which a refresh by its own policy brings up to date",
    "policy": "the policy is not the one that the live view was created with",
    "files": "a hierarchy's file or a model is not the one that the live view was created with",
    "limit": "the live view loses more records than the policy allows",
    "forced": "a refresh was asked for",
}
"""Why a live view is planned anew; the first that holds is reported."""
ANOTHER = ("missing", "unreadable", "earlier", "policy", "files")
"""The reasons for which a view with an epoch is not brought to its next state either."""
REVEALING = (
    "A live view with an epoch is not planned anew by itself. --renew does it and keeps what was promised; --force "
    "forgets it, so that the states before and after are not judged together (docs/live-views.md)."
)
UNREADABLE = (
    "A live view with an epoch that cannot be read is not planned anew by itself. --force does it and forgets what was "
    "promised, so that the states before and after are not judged together (docs/live-views.md)."
)
EARLIER = (
    "An earlier build of sqlanon made the live view, and did not note what it promised. Refresh it once by the policy "
    "and the hierarchies that it was made with; from then on --renew takes others."
)
STILL = (
    "The renewed view still loses more records than the policy allows: who left does not come back, and newcomers wait "
    "until they are enough (docs/live-views.md)."
)
BACK = (
    "The clock of the database is before the epoch that the live view shows, which stays until the clock has passed it."
)


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """The counts of a live view when it was looked at: records = published + suppressed + excluded."""

    published: int
    suppressed: int


@dataclass(frozen=True, slots=True)
class EpochFacts:
    """The epoch of a live view.

    Attributes:
        length: as the policy writes it.
        number: of the epoch that the view shows, counted from 1970-01-01 00:00 UTC.
        over: it had ended, by the clock of the database, when the view was looked at.
        back: it has not begun, by that clock.
        waiting: records of the source that may come later; None where another view is asked for.
        step: what its end did; None if the view was left as it was, or planned anew.
    """

    length: str
    number: int
    over: bool
    back: bool
    waiting: int | None = None
    step: EpochStep | None = None

    @property
    def advanced(self) -> bool:
        """Whether the view was brought to its next state."""
        return self.step is not None


@dataclass(frozen=True, slots=True)
class Refresh:
    """The result of ``refresh``. For the operator: its counts are exact.

    Attributes:
        refreshed: lookups and view were replaced.
        reason: a key of ``REASONS`` when a refresh was due, else None.
        records: of the source (of the subset, if there is one): published + suppressed + excluded, as it is now.
        allowed: as many records may be suppressed; with an entity, as many persons may lose any.
        levels: the frozen level of each quasi-identifier; None without a view.
        before: what the view published when it was looked at; None when it was not there or could not be read.
        output: ``{"live_view": name}``.
        seconds: how long it took.
        epoch: of a view with an epoch, which it shows, and what its end did; else None.
    """

    refreshed: bool
    reason: str | None
    records: int
    published: int
    suppressed: int
    excluded: int
    allowed: int
    levels: dict[str, int] | None
    before: LiveCounts | None
    output: dict[str, str]
    seconds: float
    warnings: tuple[str, ...] = ()
    epoch: EpochFacts | None = None

    @property
    def due(self) -> bool:
        """Whether the view should be planned anew, or was."""
        return self.reason is not None

    @property
    def has_ended(self) -> bool:
        """Whether the epoch that the view showed when it was looked at was over."""
        return self.epoch is not None and self.epoch.over


def refresh(
    source: object,
    policy: PolicyLike,
    *,
    force: bool = False,
    renew: bool = False,
    dry_run: bool = False,
    watch: Watcher | None = None,
) -> Refresh:
    """Plan a live view anew and replace it, when it is due; otherwise leave it. Report what it suppresses.

    Args:
        source: as for ``anonymize``; None takes the policy's.
        force: replace it in any case.
        renew: plan a view with an epoch anew, and keep what it promised: who is shown stays at the old levels, and
            newcomers come at the new ones.
        dry_run: only look.
        watch: as for ``plan``.

    Raises:
        InputError: the policy publishes no live view, or a renewal cannot keep what it promised; or see ``plan``.
        TargetError: the target is a relation that is no live view.
        NoSolutionError: the policy cannot be met any more; the old view stays.
    """
    start = time.perf_counter()
    policy = as_policy(policy)
    output = live_output(policy)
    refuse_policy(policy)
    if renew:
        _check_renewable(output, force=force)
    with open_policy_source(source, policy, writable=output.epoch is not None and not dry_run) as opened:
        check_columns(policy, opened)
        where = check_live(opened, policy, output)
        if output.epoch is not None and not (force or dry_run):
            _bring_up(opened, policy, where)
        refreshed = _look(opened, policy, where)
        if renew:
            _refuse_renewal(opened, policy, where, refreshed)
        elif refreshed.has_ended and not (force or dry_run or refreshed.reason in ANOTHER):
            refreshed = _next_state(opened, policy, where, refreshed)
    if refreshed.reason is None and (force or renew):
        refreshed = replace(refreshed, reason="forced")
    if renew and not dry_run:
        return _renewed(source, policy, where, refreshed, start, watch)
    if refreshed.reason is None or dry_run or (refreshed.epoch is not None and not force):
        return replace(refreshed, warnings=_warnings(refreshed), seconds=time.perf_counter() - start)
    return _planned_anew(source, policy, where, refreshed, start, watch)


def _check_renewable(output: Output, *, force: bool) -> None:
    """Raise InputError if a renewal is asked for beside what forgets the promise, or of a view that made none."""
    if output.epoch is None:
        raise InputError("A live view without an epoch has no promise to keep.", hint="leave out --renew.")
    if force:
        raise InputError(
            "To renew a view is to keep what it promised, and to force it is to forget that.",
            hint="choose --renew or --force.",
        )


def _bring_up(opened: Source, policy: Policy, where: Place) -> None:
    """Add to a live view of an earlier build what this one reads, if the policy is the one that it was made with."""
    facts = frozen_facts(opened.engine, where)
    if facts is None or not is_earlier(facts) or _changed(opened.engine, policy, facts):
        return
    if _published(opened, where) is not None:
        bring_up(opened.engine, where, facts, question_of(policy, source_place(opened)))


def _refuse_renewal(opened: Source, policy: Policy, where: Place, refreshed: Refresh) -> None:
    """Raise InputError if there is no view with an epoch to renew, or it cannot be renewed by this policy."""
    if refreshed.epoch is None or refreshed.reason == "unreadable":
        raise InputError(
            "There is no live view with an epoch that could be renewed.",
            hint="publish it by `sqlanon run`; or plan anew by --force.",
        )
    if refreshed.reason == "earlier":
        raise InputError("The live view cannot be renewed by this policy yet.", hint=EARLIER)
    refuse_others(opened, policy, frozen_facts(opened.engine, where) or [])


def _planned_anew(
    source: object, policy: Policy, where: Place, refreshed: Refresh, start: float, watch: Watcher | None
) -> Refresh:
    """Publish a live view anew, in the place of the one that was looked at."""
    output = live_output(policy)
    with anonymize(source, replace(policy, if_exists="replace", report=None), watch=watch) as release:
        ledger = release.ledger
        return replace(
            refreshed,
            refreshed=True,
            records=ledger.records,
            published=ledger.published,
            suppressed=ledger.suppressed,
            excluded=ledger.excluded,
            allowed=release.plan.catalog.allowed,
            levels=release.levels,
            epoch=_epoch(release.plan.engine, where, output) if output.epoch is not None else None,
            warnings=release.warnings,
            seconds=time.perf_counter() - start,
        )


def _renewed(
    source: object, policy: Policy, where: Place, refreshed: Refresh, start: float, watch: Watcher | None
) -> Refresh:
    """Renew a live view, and look at it again.

    Groups are judged as they come, so the search counts sizes alone: the new node says nothing of values of those who
    are shown.
    """
    output = live_output(policy)
    asked = replace(policy, if_exists="replace", report=None)
    with encoded_session(source, asked, watch, writable=True) as (session, _), plan_of(session.by_sizes()) as planned:
        step = renew_view(planned, output)
        after = _look(planned.source, policy, where)
        facts = _epoch(planned.engine, where, output, None if after.epoch is None else after.epoch.waiting)
    return replace(
        after,
        refreshed=True,
        reason=refreshed.reason,
        before=refreshed.before,
        epoch=replace(facts, over=refreshed.has_ended, step=step),
        warnings=(*([BACK] if facts.back else []), *([STILL] if after.reason == "limit" else [])),
        seconds=time.perf_counter() - start,
    )


def _warnings(refreshed: Refresh) -> tuple[str, ...]:
    """Return the warnings to the operator of a view with an epoch that is left as it is, or brought up to date."""
    if refreshed.epoch is None:
        return ()
    said = {"unreadable": UNREADABLE, "earlier": EARLIER}.get(refreshed.reason or "", REVEALING)
    return (*([BACK] if refreshed.epoch.back else []), *([said] if refreshed.reason is not None else []))


def _look(opened: Source, policy: Policy, where: Place) -> Refresh:
    """Count what the live view suppresses at this moment, and decide whether it should be replaced."""
    engine = opened.engine
    counted = counted_view(policy, opened)
    records, included = map(int, engine.run("count records", takes_part(counted))[0])
    facts = frozen_facts(engine, where)
    published = _published(opened, where) if facts is not None else None
    whole = included if policy.entity is None else int(engine.run("count entities", persons(counted))[0][0])
    allowed = policy.allowed_suppressions(whole)
    reason, lost, waiting = None, included - (published or 0), None
    if facts is None:
        reason = "missing"
    elif published is not None and is_earlier(facts):
        reason = "earlier"
    elif published is None or not is_complete(facts):
        reason = "unreadable"
    elif changed := _changed(engine, policy, facts):
        reason = changed
    else:
        lost, losing, waiting = _count_lost(opened, policy, where, facts, included - published)
        reason = "limit" if losing > allowed else None
    before = LiveCounts(published, lost) if published is not None else None
    output = live_output(policy)
    has_epoch = output.epoch is not None and any(kind == EPOCH for kind, _, _ in facts or [])
    return Refresh(
        refreshed=False,
        reason=reason,
        records=records,
        published=published or 0,
        suppressed=lost,
        excluded=records - included,
        allowed=allowed,
        levels=_levels(facts) if facts is not None else None,
        before=before,
        output={KIND: output.target},
        seconds=0.0,
        epoch=_epoch(engine, where, output, waiting) if has_epoch else None,
    )


def _epoch(engine: Engine, where: Place, output: Output, waiting: int | None = None) -> EpochFacts:
    """Return the epoch that a live view shows."""
    assert output.epoch is not None
    shown, now = int(read_state(engine, where)[NUMBER]), number_now(engine, output)
    return EpochFacts(output.epoch, shown, over=now > shown, back=now < shown, waiting=waiting)


def _next_state(opened: Source, policy: Policy, where: Place, refreshed: Refresh) -> Refresh:
    """Bring a live view whose epoch has ended to its next state, and look again."""
    output, facts = live_output(policy), frozen_facts(opened.engine, where)
    assert facts is not None and refreshed.epoch is not None
    epoch = epoch_view(_frozen(opened, policy, where, facts), where, output, *places_of(facts, where))
    assert epoch is not None
    step = advance(opened.engine, where, epoch, output)
    if step is None:  # another session was faster
        return refreshed
    after = _look(opened, policy, where)
    waiting = None if after.epoch is None else after.epoch.waiting
    return replace(
        after, before=refreshed.before, epoch=replace(refreshed.epoch, number=step.number, waiting=waiting, step=step)
    )


def _levels(facts: list[Fact]) -> dict[str, int]:
    """Return the frozen level of each quasi-identifier."""
    return {name: int(level) for name, level in levels_of(facts).items()}


def _count_lost(
    opened: Source, policy: Policy, where: Place, facts: list[Fact], suppressed: int
) -> tuple[int, int, int | None]:
    """Return how many records the live view suppresses, how many of those, or of entities, the policy counts, and, with
    an epoch, how many may come later."""
    engine, view = opened.engine, _frozen(opened, policy, where, facts)
    output = live_output(policy)
    epoch = None if output.epoch is None else epoch_view(view, where, output, *places_of(facts, where))
    if epoch is not None:
        records, counted, waiting = map(int, engine.run("count suppressed", epoch.not_shown())[0])
        return records, counted, waiting
    if policy.entity is None:
        return suppressed, suppressed, None
    return suppressed, int(engine.run("count entities", losing(view))[0][1]), None


def _frozen(opened: Source, policy: Policy, where: Place, facts: list[Fact]) -> LiveView:
    """Return the live view with the levels that it was created with."""
    levels = _levels(facts)
    node = [levels[column.name] for column in policy.quasi_identifiers]
    heights = {name: int(value) for kind, name, value in facts if kind == "height"}
    return frozen_view(policy, opened, where, node, dict(opened.engine.catalog.columns(where.table)), heights)


def _published(opened: Source, where: Place) -> int | None:
    """Count the records of the live view; None when a table or column beneath it is gone.

    Raises:
        EngineError: it cannot be read for another reason, which a new plan does not mend.
    """
    try:
        count = exp.select(count_rows()).from_(where.table)
        return int(opened.engine.run("count live view", count)[0][0])
    except EngineError as error:
        if error.kind not in opened.engine.capabilities.missing:
            raise
        return None


def _changed(engine: Engine, policy: Policy, facts: list[Fact]) -> str | None:
    """Return why the policy now asks for another view, if so; the version of the package does not matter."""

    def of(listed: list[Fact], *kinds: str) -> set[Fact]:
        return {fact for fact in listed if fact[0] in kinds}

    now = facts_of(engine, policy, {})
    if of(now, "policy") != of(facts, "policy"):
        return "policy"
    return "files" if of(now, "hierarchy", "model") != of(facts, "hierarchy", "model") else None


def is_earlier(facts: Sequence[Fact]) -> bool:
    """Return whether the facts are those of a view with an epoch that the build before renewals wrote."""
    return {name for kind, name, _ in facts if kind == EPOCH} == {NUMBER, STATE}


def bring_up(engine: Engine, where: Place, facts: Sequence[Fact], question: Sequence[Fact]) -> None:
    """Add to an earlier view what this build reads, in one transaction; nothing, if another session was faster.

    Args:
        question: of the policy that the view was created with.
    """
    found = read_state(engine, where)
    attributes = levels_of(facts)
    lookups = {
        name: where.named(lookup).table for kind, lookup, name in facts if kind == "lookup" and name in attributes
    }
    state = facts_of_epoch(where, number=int(found[NUMBER]), places=(lookups,))
    added = [fact for fact in state if fact[0] == EPOCH and fact[1] not in found]
    with engine.transaction():
        if not same_state(engine, where, found):
            return
        for name, kind, value in (
            (names.NODE_PLACE, "INT", exp.Literal.number(0)),
            (names.SINCE, "BIGINT", exp.null()),
        ):
            default = exp.ColumnConstraint(kind=exp.DefaultColumnConstraint(this=value))
            defined = exp.ColumnDef(
                this=exp.to_identifier(name, quoted=True), kind=exp.DataType.build(kind), constraints=[default]
            )
            shown = where.named(where.name + SHOWN).table
            engine.run("bring up", exp.Alter(this=shown, kind="TABLE", actions=[defined]))
        frozen = where.named(where.name + FROZEN).table
        engine.run("bring up", exp.Insert(this=frozen, expression=fact_rows([*added, *question])))
