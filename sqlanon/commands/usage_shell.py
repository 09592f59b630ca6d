"""What a shell completes, and the usage of ``completion``, ``versions`` and ``clean``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sqlanon.commands.guarded import GuardedCommand, Work
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
    """Return what completes one of some words."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> Any:
        from sqlanon.commands.completion import beginning

        return beginning(words, incomplete)

    return complete


@click.command(cls=GuardedCommand)
@click.argument("shell", type=click.Choice(SHELLS))
def completion() -> Work:
    """Print what SHELL runs to complete commands, options, policy files and strategies.

    In bash: eval "$(sqlanon completion bash)", in ~/.bashrc; in zsh the same, in ~/.zshrc after compinit; in fish:
    sqlanon completion fish > ~/.config/fish/completions/sqlanon.fish
    """
    from sqlanon.commands.completion import execute

    return execute


@click.command(cls=GuardedCommand)
@json_option
def versions() -> Work:
    """Print the versions of sqlanon, Python, databases and drivers that are installed."""
    from sqlanon.commands.versions import execute

    return execute


@click.command(cls=GuardedCommand)
@click.argument("place", type=click.Path(), default=".")
@click.option("--dry-run", is_flag=True, help="List what was left behind; remove nothing.")
@json_option
def clean() -> Work:
    """Remove what killed runs left in PLACE, a directory or the target of a release, and where databases spill to.

    Only what is provably ours is touched: private folders that no living process holds. A release that was being put in
    place is completed, or the old one gets its accompanying files back.
    """
    from sqlanon.commands.clean import execute

    return execute
