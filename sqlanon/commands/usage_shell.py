"""What a shell completes, and the usage of commands beside a run: for the shell, for what is left, for the keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sqlanon.commands.guarded import GuardedCommand
from sqlanon.commands.usage_groups import json_option

SHELLS = ("bash", "zsh", "fish")
"""Of ``completion``."""
STRATEGIES = (
    "auto", "box", "exhaustive", "best_first", "flash", "flash_two_phase", "ola", "incognito", "anon", "datafly",
    "igreedy",
)  # fmt: skip
"""Of ``run`` and ``frontier``, as a shell completes them; an extension may have others."""
MODELS = ("average_risk", "sample_uniqueness", "population_uniqueness", "k_map", "bounded_knowledge")


def complete_policies(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
    """Return the policy files that a shell may complete a word to."""
    from sqlanon.commands.completion import policy_files

    return policy_files(incomplete)


def completing(*words: str) -> Callable[[click.Context, click.Parameter, str], Any]:
    """Return the completion of one of some words."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        from sqlanon.commands.completion import beginning

        return beginning(words, incomplete)

    return complete


@click.command(cls=GuardedCommand)
@click.argument("shell", type=click.Choice(SHELLS))
def completion() -> None:
    """Print what SHELL runs to complete commands, options, policy files and strategies.

    In bash: eval "$(sqlanon completion bash)", in ~/.bashrc; in zsh the same, in ~/.zshrc after compinit; in fish:
    sqlanon completion fish > ~/.config/fish/completions/sqlanon.fish
    """


@click.command(cls=GuardedCommand)
@json_option
def versions() -> None:
    """Print the versions of sqlanon, Python, databases and drivers that are installed."""


@click.command(cls=GuardedCommand)
@click.argument("place", type=click.Path(), default=".")
@click.option("--dry-run", is_flag=True, help="List what was left behind; remove nothing.")
@json_option
def clean() -> None:
    """Remove what killed runs left in PLACE, a directory or the target of a release, and where databases spill to.

    Only what is provably ours is touched: private folders that no living process holds. A release that was being put in
    place is completed, or the old one gets its accompanying files back.
    """


@click.command("help", cls=GuardedCommand)
@click.argument("key", nargs=-1)
def help_command() -> None:
    """Explain KEY of a policy: what it means, what it may be, its default, an example. Without KEY, list all keys.

    KEY may be a key (suppression_limit), a path (columns.role), a privacy model (t_closeness), a hierarchy (intervals),
    a word (pseudonym, flash) or a command (run).
    """


@click.command(cls=GuardedCommand)
@click.option("--out", type=click.Path(), help="Write it to this file, such as policy.schema.json beside the policies.")
def schema() -> None:
    """Print the JSON Schema of a policy, by which editors complete and check policies.

    It has the models, measures, strategies, hierarchies and formats that are installed here.
    """
