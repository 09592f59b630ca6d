"""The verb: attack a release beside its source, and report what attackers find."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from sqlanon.assess.attack import definetti, inference, linking, membership, papers, reasoning, singling_out
from sqlanon.assess.attack.facts import MEMBERSHIP, AttackReport, Finding, NotApplicable, Outcome
from sqlanon.assess.attack.files import KnownColumns, open_file_world
from sqlanon.assess.attack.holdout import check_share, divided, open_holdout, refuse_holdout
from sqlanon.assess.attack.world import AttackWorld, PolicyWorld, open_world
from sqlanon.core.engines.journal import Watcher
from sqlanon.core.policy import Policy, PolicyLike, as_policy
from sqlanon.errors import IdentifyingColumnError, InputError, NoSolutionError, SearchStoppedError

World = TypeVar("World", bound=AttackWorld)
CONTROLLED: tuple[Callable[[AttackWorld], Outcome | Iterable[Outcome]], ...] = (
    singling_out.by_quasi_identifiers,
    singling_out.by_kept_columns,
    singling_out.by_all_columns,
    singling_out.by_predicate,
    linking.by_register,
    linking.by_parts,
    inference.by_class,
    inference.by_class_and_kept,
    definetti.definetti,
    membership.by_membership,
)
"""The attacks that guess: they are repeated on a release with a control group."""
ATTACKS: tuple[Callable[[PolicyWorld], Outcome | Iterable[Outcome]], ...] = (
    *CONTROLLED,
    reasoning.by_refinement,
    reasoning.by_downcoding,
    reasoning.by_minimality,
    papers.by_papers,
)
"""The attacks, in the order of the report; those that reason come last. Each returns a finding, or several of different
columns, or why it has nothing to try."""
OF_RECORDS = (
    "Attempts count records, of which an entity may have several: one that all records of a class are of is not "
    "counted as singled out. The report of a run (run --report) counts the entities that are."
)
NO_CONTROL = "none was asked for, so that the rates are those of the release alone."


def attack(
    release: str | os.PathLike[str],
    policy: PolicyLike | Sequence[str],
    *,
    source: object = None,
    table: str | None = None,
    sensitive: Sequence[str] = (),
    holdout: float | str | os.PathLike[str] = 0.5,
    seed: int = 1,
    watch: Watcher | None = None,
) -> AttackReport:
    """Attack a release beside its source, and count what the attacks find.

    Args:
        release: a file; of a database file, with ``table``.
        policy: that it was published by. Or the names of the quasi-identifiers, for a file of anybody's, such as
            synthetic records: without a policy, its texts are read as values, ranges, masks and sets.
        source: as for ``anonymize``; None takes the policy's. Without a policy a path, a frame, or a pair of one and
            the name of its table.
        sensitive: without a policy, the columns to guess; by default all others that file and source share.
        holdout: the share of the source that the control group is drawn from: the policy is published again, in a
            private folder, from the others. 0: no control group. Without a policy, a file with records that the file
            was not made of; a share there has no control group.
        seed: of whatever is drawn.

    Raises:
        UnsupportedError: the policy, or the engine of its source, is none whose releases are attacked, or one that
            cannot be published from a part of its source.
        InputError: the release is none of this policy, or an argument is out of its range.
        SourceError: the release or the source cannot be read.
    """
    _check(release, seed)
    is_file = isinstance(holdout, str | os.PathLike)
    if isinstance(policy, list | tuple):
        columns = KnownColumns(tuple(policy), tuple(sensitive))
        control = os.fspath(holdout) if isinstance(holdout, str | os.PathLike) else None
        with open_file_world(
            release, columns, source=source, table_name=table, control=control, seed=seed, watch=watch
        ) as (world, warnings):
            return _reported(Path(release).name, world, run_attacks(world, CONTROLLED), warnings)
    if sensitive or is_file:
        raise InputError(
            "The policy says which columns are sensitive, and publishes again with a control group.",
            hint="leave sensitive out, and give a share as holdout.",
        )
    return _of_policy(release, as_policy(policy), source, table, holdout, seed, watch)


def _of_policy(
    release: str | os.PathLike[str],
    policy: Policy,
    source: object,
    table: str | None,
    holdout: object,
    seed: int,
    watch: Watcher | None,
) -> AttackReport:
    """Attack the release of a policy, and a release of it with a control group."""
    share = check_share(holdout)
    if share is not None:
        refuse_holdout(policy)
    with ExitStack() as until_the_end:
        with open_world(release, policy, source=source, table_name=table, seed=seed, watch=watch) as world:
            outcomes = run_attacks(world, ATTACKS)
            folder = None if share is None else until_the_end.enter_context(divided(world, share))
        warnings = (*world.encoding.warnings, *([OF_RECORDS] if policy.entity is not None else []))
        report = _reported(Path(release).name, world, outcomes, warnings)
        if folder is None or share is None:
            return report
        return _controlled(report, folder, policy, share, watch)


def _reported(name: str, world: AttackWorld, outcomes: Sequence[Outcome], warnings: tuple[str, ...]) -> AttackReport:
    findings = [item for item in outcomes if isinstance(item, Finding)]
    control = NO_CONTROL
    if world.controls is not None:
        control = f"{world.controls:,} records that the file was not made of."
        findings = [item if item.control is None else item.with_control(item.control) for item in findings]
    return AttackReport(
        release=name,
        records=world.records,
        published=world.published,
        seed=world.seed,
        findings=tuple(findings),
        not_applicable=tuple(item for item in outcomes if isinstance(item, NotApplicable)),
        control=control,
        warnings=warnings,
    )


def _controlled(
    report: AttackReport, folder: Path, policy: Policy, share: float, watch: Watcher | None
) -> AttackReport:
    """Return a report beside the attacks on a release with a control group."""
    try:
        with open_holdout(folder, policy, share, seed=report.seed, watch=watch) as world:
            outcomes = run_attacks(world, CONTROLLED)
    except (IdentifyingColumnError, NoSolutionError, SearchStoppedError) as error:
        reason = f"none: from {1 - share:.0%} of the source the policy publishes nothing ({type(error).__name__})."
        return replace(report, control=reason)
    found = [item for item in outcomes if isinstance(item, Finding)]
    beside = {(item.attack, item.columns): item.control for item in found if item.control is not None}
    findings = []
    for item in report.findings:
        control = beside.get((item.attack, item.columns))
        findings.append(item if control is None else item.with_control(control))
    findings += [item for item in found if item.risk == MEMBERSHIP]
    others = [item for item in report.not_applicable if item.risk != MEMBERSHIP]
    others += [item for item in outcomes if isinstance(item, NotApplicable) and item.risk == MEMBERSHIP]
    how = (
        f"{world.controls:,} records, drawn at random; the policy was published again from the other "
        f"{world.records:,}, and that release attacked."
    )
    return replace(report, findings=tuple(findings), not_applicable=tuple(others), control=how)


def run_attacks(world: World, attacks: Iterable[Callable[[World], Outcome | Iterable[Outcome]]]) -> list[Outcome]:
    """Return what some attacks came to."""
    found: list[Outcome] = []
    for each in attacks:
        outcome = each(world)
        found += [outcome] if isinstance(outcome, Finding | NotApplicable) else outcome
    return found


def _check(release: object, seed: object) -> None:
    if not isinstance(release, str | os.PathLike):
        raise InputError("This is no path of a release.", hint='say attack("released.parquet", policy), say.')
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise InputError("This is not a seed.", hint="give a whole number from 0 to 2^31 - 1.")
