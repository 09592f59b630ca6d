"""The verb: attack a release beside its source, and report what attackers find."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from sqlanon.assess.attack import definetti, inference, linking, membership, papers, reasoning, singling_out
from sqlanon.assess.attack.composition import by_composition
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
    policy: PolicyLike,
    *,
    source: object = None,
    table: str | None = None,
    also: Sequence[tuple[str | os.PathLike[str], PolicyLike]] = (),
    holdout: float = 0.5,
    seed: int = 1,
    watch: Watcher | None = None,
) -> AttackReport:
    """Attack a release beside its source, and count what the attacks find.

    Args:
        release: a file; of a database file, with ``table``.
        policy: that it was published by.
        source: as for ``anonymize``; None takes the policy's.
        also: other releases of the same source, with their policies, that the attacker has as well.
        holdout: the share of the source that the control group is drawn from: the policy is published again, in a
            private folder, from the others. 0: no control group.
        seed: of whatever is drawn.

    Raises:
        UnsupportedError: the policy, or the engine of its source, is none whose releases are attacked, or one that
            cannot be published from a part of its source.
        InputError: the release is none of this policy, or an argument is out of its range.
        SourceError: the release or the source cannot be read.
    """
    policy = as_policy(policy)
    pairs = isinstance(also, Sequence) and all(isinstance(each, Sequence) and len(each) == 2 for each in also)
    if isinstance(also, str) or not pairs:
        raise InputError("These are no releases with their policies.", hint='say also=[("b.parquet", "b.yaml")], say.')
    _check(seed, release, *(other for other, _ in also))
    share = check_share(holdout)
    if share is not None:
        refuse_holdout(policy)
    together: list[Outcome] = []
    if also:
        releases = [(release, policy), *((other, as_policy(own)) for other, own in also)]
        together = by_composition(releases, source=source, table_name=table, seed=seed, watch=watch)
    with ExitStack() as until_the_end:
        with open_world(release, policy, source=source, table_name=table, seed=seed, watch=watch) as world:
            outcomes = [*run_attacks(world, ATTACKS), *together]
            folder = None if share is None else until_the_end.enter_context(divided(world, share))
        warnings = (*world.encoding.warnings, *([OF_RECORDS] if policy.entity is not None else []))
        report = _reported(Path(release).name, world, outcomes, warnings)
        if folder is None or share is None:
            return report
        return _controlled(report, folder, policy, share, watch)


def attack_file(
    file: str | os.PathLike[str],
    source: object,
    quasi_identifiers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    control: str | os.PathLike[str] | None = None,
    table: str | None = None,
    seed: int = 1,
    watch: Watcher | None = None,
) -> AttackReport:
    """Attack any file beside the records that it was made of, such as synthetic records or a release of another tool.

    There is no policy: texts of the file are read as values, ranges, bounds, masks and sets; whom no row covers has
    the rows that are nearest.

    Args:
        file: of a database file, with ``table``.
        source: a path, a frame or a connection; or a pair of one of these and the name of its table.
        quasi_identifiers: the columns that the attacker knows of everybody.
        sensitive: the columns to guess; by default all others that file and source share.
        control: a file with records that ``file`` was not made of; None: no control group.
        seed: of whatever is drawn.

    Raises:
        UnsupportedError: the engine of the source is none beside which files are read.
        InputError: no column is named, or one twice, or an argument is out of its range.
        SourceError: a file cannot be read, or lacks a column.
    """
    _check(seed, file, *([] if control is None else [control]))
    for given in (quasi_identifiers, sensitive):
        if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(n, str) for n in given):
            raise InputError("This is no list of columns.", hint='name columns, e.g. ["age", "zip"].')
    columns = KnownColumns(tuple(quasi_identifiers), tuple(sensitive))
    with open_file_world(file, columns, source=source, table_name=table, control=control, seed=seed, watch=watch) as (
        world,
        warnings,
    ):
        return _reported(Path(file).name, world, run_attacks(world, CONTROLLED), warnings)


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
    findings += [item.with_control(item.control) for item in found if item.risk == MEMBERSHIP and item.control]
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


def _check(seed: object, *files: object) -> None:
    if not all(isinstance(file, str | os.PathLike) for file in files):
        raise InputError("This is no path of a file.", hint='say attack("released.parquet", policy), say.')
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**31:
        raise InputError("This is not a seed.", hint="give a whole number from 0 to 2^31 - 1.")
