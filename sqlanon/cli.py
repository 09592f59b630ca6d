"""The command line. Exit codes: 0 done; 1 the policy cannot be met, or a check failed; 2 bad input or usage.

Standard output holds the answer, and with ``--json`` exactly one JSON document; progress, warnings and errors go to
standard error.
"""

from __future__ import annotations

import click

from sqlanon.commands.check import check
from sqlanon.commands.clean import clean_command
from sqlanon.commands.convert import convert_command
from sqlanon.commands.dbt import dbt_command
from sqlanon.commands.demo import demo
from sqlanon.commands.explain import explain
from sqlanon.commands.hierarchy import hierarchy
from sqlanon.commands.nulls import nulls
from sqlanon.commands.refresh import refresh_command
from sqlanon.commands.run import run
from sqlanon.commands.verify import verify_command
from sqlanon.version import VERSION

COMMANDS: tuple[click.Command, ...] = (
    demo,
    run,
    refresh_command,
    explain,
    dbt_command,
    check,
    nulls,
    verify_command,
    hierarchy,
    convert_command,
    clean_command,
)
"""In the order of the documentation."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="sqlanon")
def main() -> None:
    """Anonymize a table where it lies: k-anonymous, with the least loss, and with a proof of both."""


for command in COMMANDS:
    main.add_command(command)


if __name__ == "__main__":
    main()
