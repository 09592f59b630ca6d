"""``sqlanon run`` of several policies: one after the other, each as if it were alone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import click

from sqlanon.commands.guarded import ANSWERS, Answers, attempt
from sqlanon.commands.standard_streams import STANDARD
from sqlanon.commands.verbosity import say, verbosity
from sqlanon.errors import InputError


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
