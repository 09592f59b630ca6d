"""``sqlanon verify``: run the proof in a certificate again, and tell whether it holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from sqlanon.commands.common import STDERR, guarded, policy_of
from sqlanon.verification import Verification, verify


@click.command(name="verify")
@click.argument("certificate", type=click.Path())
@click.argument("policy", type=click.Path())
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
def verify_command(certificate: str, policy: str, as_json: bool) -> None:
    """Run the proof in CERTIFICATE again for POLICY, with plain SQL: exit 0 holds, 1 does not, 2 cannot say."""

    def action() -> int:
        made = policy_of(policy)
        with _judging(not as_json) as watch:
            found = verify(certificate, made, watch=watch)
        if as_json:
            print(json.dumps({"holds": found.holds, **asdict(found)}))
        else:
            _tell_verification(found)
        return 0 if found.holds else 1

    guarded(action, as_json=as_json)


@contextmanager
def _judging(enabled: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while nodes are judged again; nothing when standard error is no terminal."""
    if not enabled or not STDERR.is_terminal:
        yield None
        return
    with Bar(TextColumn("judging nodes"), BarColumn(), MofNCompleteColumn(), console=STDERR, transient=True) as bar:
        task = bar.add_task("")
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell_verification(found: Verification) -> None:
    for remark in found.remarks:
        print(f"Warning: {remark}", file=sys.stderr)
    told = f"{found.boxes} boxes, {found.nodes} nodes judged again"
    if not found.holds:
        print(f"The certificate does not hold ({told}):")
        for fault in found.faults:
            print(f"  {fault}")
        return
    loss, lower = found.loss or 0.0, found.lower_bound or 0.0
    proof = "is optimal" if found.optimal else f"is within {(loss - lower) / loss if loss else 0.0:.2%} of the optimum"
    print(f"The certificate holds ({told}): the chosen node loses {loss:.6f} and {proof}.")
