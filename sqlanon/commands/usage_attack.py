"""The arguments and options of ``attack``; ``usage`` has those of the others."""

from __future__ import annotations

import click

from sqlanon.commands.guarded import GuardedCommand, Work
from sqlanon.commands.usage_groups import (
    column_names,
    json_option,
    optional_qi_option,
    report_option,
    table_argument,
)
from sqlanon.commands.usage_shell import complete_policies


@click.command(cls=GuardedCommand)
@click.argument("release", type=click.Path())
@table_argument
@click.option(
    "--policy",
    type=click.Path(),
    shell_complete=complete_policies,
    help="The policy that the release was published by; without one, --source and --qi.",
)
@click.option("--source", type=click.Path(), help="The records that a file without a policy was made of.")
@click.option("--source-table", help="Its table, if it is a database.")
@optional_qi_option
@click.option(
    "--sensitive",
    multiple=True,
    callback=column_names,
    metavar="COLUMN,…",
    help="Columns to guess, without a policy; by default all others that file and source share.",
)
@click.option(
    "--also",
    nargs=2,
    multiple=True,
    type=click.Path(),
    metavar="RELEASE POLICY",
    help="Another release of the same source that the attacker has as well, with its policy; may be repeated.",
)
@click.option(
    "--holdout",
    metavar="SHARE|FILE",
    help="Draw this share of the source (0.5) as a control group, publish POLICY from the rest and attack that; 0: do "
    "not. Without a policy: a file with records that RELEASE was not made of.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, help="The seed of what is drawn."
)
@click.option(
    "--fail-over",
    type=float,
    metavar="RATE",
    help="Exit 1 if an attack's excess over its control (without one, its rate) is above this.",
)
@report_option
@json_option
def attack() -> Work:
    """Attack RELEASE beside its source and count what is found: singling out, linkability, inference, membership.

    With --source and --qi instead of --policy any file is attacked: synthetic records, or a release of another tool.

    Everything is counted in the database, against the source as the truth; no value is shown. A report, no verdict:
    exit 0 when it could be computed, 2 when not. For the operator: the counts are exact.
    """
    from sqlanon.commands.attack import execute

    return execute
