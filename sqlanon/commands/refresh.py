"""``sqlanon refresh``: look at what a live view loses, and plan it anew when that is more than the policy allows."""

from __future__ import annotations

import json
from typing import Any

from sqlanon.commands.common import read_policy, warn
from sqlanon.commands.progress import progress
from sqlanon.commands.verbosity import say
from sqlanon.core.facts import pick
from sqlanon.live.refreshing import REASONS, EpochFacts, Refresh, refresh


def execute(policy: str, as_json: bool, on_interrupt: str | None, dry_run: bool, force: bool, renew: bool) -> int:
    """Carry the command out, with the options of ``usage``, and return the exit code."""
    loaded = read_policy(policy, on_interrupt=on_interrupt)
    with progress() as watch:
        found = refresh(None, loaded, force=force, renew=renew, dry_run=dry_run, watch=watch)
    for warning in found.warnings:
        warn(warning)
    if as_json:
        print(json.dumps(_document(found)))
    else:
        _print_refresh(found)
    return 0


def _document(found: Refresh) -> dict[str, Any]:
    """Return the document of ``refresh --json``."""
    return {
        **pick(found, "refreshed due reason records published suppressed excluded allowed levels"),
        "before": found.before and pick(found.before, "published suppressed"),
        **pick(found, "output warnings"),
        **pick(found, "seconds", digits=6),
        **({} if found.epoch is None else {"epoch": _epoch(found.epoch)}),
    }


def _epoch(epoch: EpochFacts) -> dict[str, Any]:
    """Return the part of the document about the epoch of a live view."""
    step = {} if epoch.step is None else pick(epoch.step, "joined gone withdrawn held")
    return {**pick(epoch, "length number over advanced waiting"), **step}


def _print_refresh(found: Refresh) -> None:
    [(_, name)] = found.output.items()
    if found.before is not None:
        say(f"{name} held {found.before.published} records and lost {found.before.suppressed}.")
    step = None if found.epoch is None else found.epoch.step
    if step is not None:
        done = "It was renewed" if found.refreshed else "Its epoch has ended"
        say(
            f"{done}: {step.joined} records came, {step.gone} went, {step.withdrawn} were withdrawn with their groups, "
            f"{step.held} are shown as they were."
        )
    elif found.reason is None:
        say("It is left as it is.")
    if found.reason is not None and (step is None or not found.refreshed):
        say(f"{'It was planned anew' if found.refreshed else 'A refresh is due'}: {REASONS[found.reason]}.")
    if found.epoch is not None and (step is not None or not found.refreshed):
        later = "" if found.epoch.waiting is None else f" ({found.epoch.waiting} of them may come later)"
        say(
            f"  {found.published} records published; of the {found.records} records of the source {found.suppressed} "
            f"are not shown{later}, {found.excluded} excluded; {found.allowed} may be suppressed"
        )
    else:
        say(
            f"  {found.records} records = {found.published} published + {found.suppressed} suppressed + "
            f"{found.excluded} excluded; {found.allowed} may be suppressed"
        )
    for column, level in (found.levels or {}).items():
        say(f"  {column}: level {level}")
