"""Refresh a live view: check whether it still serves, and if not, put a new plan in its place.

What is published is safe at every moment, for the view counts its classes itself. What ages is its use: values that
came later have no row in a lookup, and classes that shrank are left out. When the view loses more than the policy
allows, the source is planned anew, and lookups and view are replaced in one transaction.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.anonymizer import anonymize
from sqlanon.compiler.live import losing, persons, takes_part
from sqlanon.engines.base import Engine, Place
from sqlanon.engines.journal import Watcher
from sqlanon.errors import EngineError
from sqlanon.policy import Policy, PolicyLike, as_policy
from sqlanon.publish.live.facts import Fact, facts_of, frozen_facts
from sqlanon.publish.live.view import KIND, check_live, counted_view, frozen_view, live_output, refuse_policy
from sqlanon.source.columns import check_columns
from sqlanon.source.joining import open_policy_source
from sqlanon.source.opening import Source
from sqlanon.sqltrees.trees import count_rows

REASONS: Mapping[str, str] = {
    "missing": "there is no live view",
    "unreadable": "the live view cannot be read any more",
    "policy": "the policy is not the one that the live view was created with",
    "files": "a hierarchy's file or a model is not the one that the live view was created with",
    "limit": "the live view loses more records than the policy allows",
    "forced": "a refresh was asked for",
}
"""Why a live view is planned anew; the first that holds is reported."""


@dataclass(frozen=True, slots=True)
class LiveCounts:
    """The counts of a live view when it was looked at: records = published + suppressed + excluded."""

    published: int
    suppressed: int


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

    @property
    def due(self) -> bool:
        """Whether the view should be planned anew, or was."""
        return self.reason is not None


def refresh(
    source: object, policy: PolicyLike, *, force: bool = False, dry_run: bool = False, watch: Watcher | None = None
) -> Refresh:
    """Plan a live view anew and replace it, when it is due; otherwise leave it. Report what it suppresses.

    Args:
        source: as for ``anonymize``; None takes the policy's.
        force: replace it in any case.
        dry_run: only look.
        watch: as for ``plan``.

    Raises:
        InputError: the policy publishes no live view; or see ``plan``.
        TargetError: the target is a relation that is no live view.
        NoSolutionError: the policy cannot be met any more; the old view stays.
    """
    start = time.perf_counter()
    policy = as_policy(policy)
    output = live_output(policy)
    refuse_policy(policy)
    with open_policy_source(source, policy) as opened:
        check_columns(policy, opened)
        found = _look(opened, policy, check_live(opened, policy, output))
    if found.reason is None and force:
        found = replace(found, reason="forced")
    if found.reason is None or dry_run:
        return replace(found, seconds=time.perf_counter() - start)
    with anonymize(source, replace(policy, if_exists="replace", report=None), watch=watch) as release:
        ledger = release.ledger
        return replace(
            found,
            refreshed=True,
            records=ledger.records,
            published=ledger.published,
            suppressed=ledger.suppressed,
            excluded=ledger.excluded,
            allowed=release.plan.catalog.allowed,
            levels=release.levels,
            warnings=release.warnings,
            seconds=time.perf_counter() - start,
        )


def _look(opened: Source, policy: Policy, where: Place) -> Refresh:
    """Count what the live view suppresses at this moment, and decide whether it should be replaced."""
    engine = opened.engine
    counted = counted_view(policy, opened)
    records, included = map(int, engine.run("count records", takes_part(counted))[0])
    facts = frozen_facts(engine, where)
    published = _published(opened, where) if facts is not None else None
    whole = included if policy.entity is None else int(engine.run("count entities", persons(counted))[0][0])
    allowed = policy.allowed_suppressions(whole)
    reason = None
    if facts is None:
        reason = "missing"
    elif published is None:
        reason = "unreadable"
    elif changed := _changed(engine, policy, facts):
        reason = changed
    else:
        suppressed = _count_suppressed(opened, policy, where, facts, included - published)
        reason = "limit" if suppressed > allowed else None
    before = LiveCounts(published, included - published) if published is not None else None
    return Refresh(
        refreshed=False,
        reason=reason,
        records=records,
        published=published or 0,
        suppressed=included - (published or 0),
        excluded=records - included,
        allowed=allowed,
        levels=_levels(facts) if facts is not None else None,
        before=before,
        output={KIND: live_output(policy).target},
        seconds=0.0,
    )


def _levels(facts: list[Fact]) -> dict[str, int]:
    """Return the frozen level of each quasi-identifier."""
    return {name: int(value) for kind, name, value in facts if kind == "level"}


def _count_suppressed(opened: Source, policy: Policy, where: Place, facts: list[Fact], suppressed: int) -> int:
    """Count the records that the live view suppresses, or the entities with a suppressed record."""
    if policy.entity is None:
        return suppressed
    levels = _levels(facts)
    node = [levels[column.name] for column in policy.quasi_identifiers]
    view = frozen_view(policy, opened, where, node, dict(opened.engine.columns(where.table)))
    return int(opened.engine.run("count entities", losing(view))[0][1])


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
