"""``sqlanon run``: carry a policy out, publish and audit the release, and print what was done."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.commands.common import warn, with_search
from sqlanon.commands.guarded import ANSWERS, Answers, answer, attempt, concealing
from sqlanon.commands.progress import progress
from sqlanon.commands.released import describe_release, print_release
from sqlanon.commands.run_beside import check_beside, measured, note, taken_by, write_beside
from sqlanon.commands.standard_streams import STANDARD, read_standard_policy, send, to_file, to_standard_output
from sqlanon.commands.verbosity import say, verbosity
from sqlanon.core.anonymizer import anonymize
from sqlanon.core.plan.release import Release
from sqlanon.core.policy import Like, Policy
from sqlanon.errors import InputError, Interrupted, NothingNewError, SqlanonError, UnsupportedError
from sqlanon.report.failures import summarize_failure
from sqlanon.report.files import check_report, write_report
from sqlanon.tables.policy import TablesPolicy, is_tables_file, names_tables

if TYPE_CHECKING:  # loaded when they are asked for
    from sqlanon.commands.run_lineage import Lineage
    from sqlanon.report.changes import Earlier


def execute(
    policies: tuple[str, ...], as_json: bool, dry_run: bool, audience: str, fail_fast: bool, **given: Any
) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    like, replan, if_changed, metrics = (given.pop(name) for name in ("like", "replan", "if_changed", "metrics"))
    beside = {name: given.pop(name) for name in ("script", "certificate", "report", "openlineage", "diff")}
    sending = (given.pop("to"), given.pop("form"))
    of_one = {**{f"--{name}": value for name, value in beside.items()}, "--to": sending[0], "--like": like}

    def run_one(path: str) -> int:
        return measured(metrics, path, lambda: run_opened(path))

    def run_opened(path: str) -> int:
        found = _opened(path)
        if not isinstance(found, Policy):
            from sqlanon.commands.run_tables import run_tables

            told = {name: beside[name] for name in ("openlineage", "diff")}
            lacking = [name for name, value in of_one.items() if value is not None and name[2:] not in told]
            flags = {"--replan": replan, "--if-changed": if_changed}
            lacking += [name for name, is_given in flags.items() if is_given]
            return run_tables(found, lacking, as_json=as_json, dry_run=dry_run, **told, **given)
        found = _like(with_search(found, **given), like, replan=replan)
        loaded, form = _published(found, *sending, as_json=as_json, dry_run=dry_run)
        if (report := beside["report"]) is not None:
            check_report(Path(report))
            loaded = replace(loaded, report=str(Path(report).absolute()))
        since, taken = _earlier(beside["diff"] or _replanned(loaded), loaded), taken_by(loaded, beside["diff"])
        if dry_run:
            periods = None if loaded.periods is None else replace(loaded.periods, continued=loaded.output)
            kept = loaded.report if report else None
            loaded = replace(loaded, output=None, report=kept, certificate=None, periods=periods)
        files = {name: beside[name] for name in ("script", "certificate", "openlineage")}
        told = {"since": since, "files": files, "taken": taken, "if_changed": if_changed}
        return run_policy(loaded, as_json=as_json, audience=audience, form=form, **told)

    if len(policies) == 1:
        return run_one(policies[0])
    return run_several(policies, run_one, as_json=as_json, fail_fast=fail_fast, of_one=of_one)


def _like(policy: Policy, manifest: str | None, *, replan: bool) -> Policy:
    """Return the policy with the earlier release that ``--like`` names, and planned anew if ``--replan`` says so.

    Raises:
        InputError: there is none to plan anew from.
    """
    like = policy.like if manifest is None else Like(str(Path(manifest).absolute()))
    if replan and like is None:
        raise InputError("--replan plans anew from an earlier release.", hint="name it: like: MANIFEST, or --like.")
    return replace(policy, like=replace(like, replan=True) if like is not None and replan else like)


def _replanned(policy: Policy) -> str | None:
    """Return the manifest of the release that a policy plans anew from, if it is there."""
    like = policy.like
    return like.manifest if like is not None and like.replan and os.path.lexists(like.manifest or "") else None


def _earlier(manifest: str | None, policy: Policy) -> Earlier | None:
    """Return the earlier release that a run is compared with, if that is asked for."""
    if manifest is None:
        return None
    from sqlanon.commands.run_changes import earlier_release

    return earlier_release(Path(manifest), policy)


def _lineage(path: Path | None, policy: Policy) -> Lineage | None:
    """Return the reporter of the run to a catalog, if one is asked for."""
    if path is None:
        return None
    from sqlanon.commands.run_lineage import Lineage

    return Lineage(path, policy)


def _opened(path: str) -> Policy | TablesPolicy:
    """Return the policy of one table, or of several, that a file or standard input holds."""
    if path == STANDARD:
        document = read_standard_policy()
        found = TablesPolicy.from_dict(document) if names_tables(document) else Policy.from_dict(document)
    else:
        found = TablesPolicy.from_file(path) if is_tables_file(path) else Policy.from_file(path)
    concealing(found.conceal)
    return found


def _published(
    policy: Policy, to: str | None, form: str | None, *, as_json: bool, dry_run: bool
) -> tuple[Policy, str | None]:
    """Return the policy with the target that ``--to`` names, and the format in which it is sent to standard output.

    Raises:
        InputError: the format is for standard output alone, or that is taken.
    """
    if form is not None and to != STANDARD:
        raise InputError("--format is of standard output; a file has it by its ending.", hint="say --to -.")
    if to is None:
        return policy, None
    if to != STANDARD:
        return to_file(policy, to), None
    form = form or "csv"
    verbosity().summary = sys.stderr
    return to_standard_output(policy, form, as_json=as_json, dry_run=dry_run), form


def run_policy(
    policy: Policy,
    *,
    as_json: bool,
    files: Mapping[str, str | None] | None = None,
    audience: str = "operator",
    form: str | None = None,
    since: Earlier | None = None,
    taken: Sequence[Path] | None = None,
    if_changed: bool = False,
) -> int:
    """Run a policy, print what came of it, and return the exit code. A run that fails has its report too.

    Args:
        files: what to write beside the release: ``script``, ``certificate``, and ``openlineage``, by which the run is
            reported to a catalog of lineage; one that fails, too.
        form: the format in which the release, a private file, is sent to standard output.
        since: an earlier release, to say what changed.
        taken: files of the run, which none of these may be; by default those of the policy.
        if_changed: end with exit code 3, and write nothing, if the release at the target is equal to the new one.
    """
    asked = files or {}
    named = {**asked, "report": policy.report, "certificate": asked.get("certificate") or policy.certificate}
    beside = {what: Path(name) for what, name in named.items() if name}
    check_beside(taken_by(policy) if taken is None else taken, beside)
    if "script" in beside and policy.ledger is not None and policy.ledger.cohorts is not None:
        raise UnsupportedError("No script repeats releases in cohorts.", hint="leave out --script.")
    told = policy if form is None else replace(policy, output=None)  # standard output is no dataset
    lineage = _lineage(beside.pop("openlineage", None), told)
    report = beside.get("report")
    with progress() as watch:
        try:
            release = anonymize(None, policy, watch=watch, if_changed=if_changed)
        except NothingNewError as nothing:
            note(lambda: {"unchanged": True})
            if lineage is not None:
                lineage.skip()
            if not as_json:
                say(nothing.message)
            else:
                of_periods: dict[str, Any] = {} if policy.periods is None else {"periods": []}
                answer(of_periods | {"unchanged": True, "message": nothing.message})
            return nothing.exit_code if if_changed else 0
        except SqlanonError as error:
            _report_failure(policy, error, report, audience, lineage)
            raise
    with release:
        try:
            changed = None if since is None else since.changes(release.manifest)
            _report(release, beside, lineage, changed, as_json=as_json, audience=audience, form=form)
        except KeyboardInterrupt:
            if not release.output:
                raise
            if form is not None:
                raise Interrupted("Standard output may hold a part of the release.") from None
            raise Interrupted("The release itself was published before.", published=True) from None
    return 0


def _report_failure(
    policy: Policy, error: SqlanonError, report: Path | None, audience: str, lineage: Lineage | None
) -> None:
    """Write the report of a run that failed; where it cannot be written, its own failure must not hide the first."""
    try:
        if lineage is not None:
            lineage.fail(error)
        if report is not None:
            write_report(summarize_failure(policy, error), report, audience=audience)
    except SqlanonError as second:
        warn(f"there is no report of this failure: {second.message}")


def _report(
    release: Release,
    beside: Mapping[str, Path],
    lineage: Lineage | None,
    changed: Mapping[str, Any] | None,
    *,
    as_json: bool,
    audience: str,
    form: str | None,
) -> None:
    """Print what came of a run, and write what stands beside the release; then send it, where that is asked for.

    Args:
        changed: what differs from an earlier release, if that is asked for.
    """
    written = release.output.get("file", "")
    if form is not None:
        release = replace(release, output={"standard output": form})
    for warning in release.warnings:
        warn(warning)
    note(lambda: describe_release(release))
    try:
        write_beside(release, beside, audience)
        if lineage is not None:
            lineage.complete(release.manifest)
    except SqlanonError as error:
        if release.output and form is None:
            warn("the release itself was published; what follows failed after it.")
        raise error
    if form is not None:
        send(Path(written), form)
    if as_json:
        answer(describe_release(release) | ({} if changed is None else {"diff": changed}))
    else:
        print_release(release)
        if changed is not None:
            from sqlanon.commands.run_changes import print_changes

            print_changes(changed)
        if "report" in beside:
            say(f"  report: {beside['report']}")


def run_several(
    policies: Sequence[str],
    run: Callable[[str], int],
    *,
    as_json: bool,
    fail_fast: bool,
    of_one: Mapping[str, object],
) -> int:
    """Run policies, and return the highest exit code.

    The documents of ``--json`` are one array, each with its ``policy`` and its ``exit_code``.

    Args:
        of_one: options that name one file or stream.
        fail_fast: do not begin with another policy after one that failed.

    Raises:
        InputError: an option is for one policy, or standard input is named twice.
    """
    given = [name for name, value in of_one.items() if value is not None]
    if given:
        raise InputError(
            f"{' and '.join(given)} would be written anew by each of the {len(policies)} policies.",
            hint="run them one by one, or say it in each policy.",
        )
    if policies.count(STANDARD) > 1:
        raise InputError("Standard input holds one policy.", hint="write - once.")
    several = Answers()
    click.get_current_context().meta[ANSWERS] = several
    asked, codes = verbosity(), list[int]()
    for number, path in enumerate(policies):
        several.about = {"policy": path}
        asked.about = f"{path}: "
        if not as_json:
            say(f"{path}:")
        codes.append(attempt(partial(run, path), as_json=as_json))
        if as_json:
            several.documents[-1]["exit_code"] = codes[-1]
        if asked.account is not None:
            asked.account.report(asked.about)
        if fail_fast and codes[-1]:
            left = policies[number + 1 :]
            if left:
                print(f"Not run, after {path} failed: {', '.join(left)}", file=sys.stderr)
            break
    return max(codes)
