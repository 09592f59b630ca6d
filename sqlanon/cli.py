"""The command line. Exit codes: 0 done; 1 the policy cannot be met, or a check failed; 2 bad input or usage.

Standard output holds the answer, and with ``--json`` exactly one JSON document; progress, warnings and errors go to
standard error.
"""

from __future__ import annotations

import click

from sqlanon.commands.usage import COMMANDS
from sqlanon.version import VERSION


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="sqlanon")
def main() -> None:
    """Anonymize a table where it lies: k-anonymous, with the least loss, and with a proof of both."""


for command in COMMANDS:
    main.add_command(command)


if __name__ == "__main__":
    main()
