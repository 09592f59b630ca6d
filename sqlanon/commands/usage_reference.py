"""The usage of ``help`` and ``schema``, which explain the keys of a policy."""

from __future__ import annotations

import click

from sqlanon.commands.guarded import GuardedCommand, Work


@click.command("help", cls=GuardedCommand)
@click.argument("key", nargs=-1)
def help_command() -> Work:
    """Explain KEY of a policy: what it means, what it may be, its default, an example. Without KEY, list all keys.

    KEY may be a key (suppression_limit), a path (columns.role), a privacy model (t_closeness), a hierarchy (intervals),
    a word (pseudonym, flash) or a command (run).
    """
    from sqlanon.commands.help import execute

    return execute


@click.command(cls=GuardedCommand)
@click.option("--out", type=click.Path(), help="Write it to this file, such as policy.schema.json beside the policies.")
def schema() -> Work:
    """Print the JSON Schema of a policy, by which editors complete and check policies.

    It has the models, measures, strategies, hierarchies and formats that are installed here.
    """
    from sqlanon.commands.schema import execute

    return execute
