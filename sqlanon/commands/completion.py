"""``sqlanon completion``: what a shell runs to complete the words of a command line, and what it is offered."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem, get_completion_class

POLICY_ENDINGS = (".yaml", ".yml", ".json", ".toml", ".xml")
VARIABLE = "_SQLANON_COMPLETE"


def execute(shell: str) -> int:
    """Print the script of a shell, and return the exit code."""
    found = get_completion_class(shell)
    assert found is not None  # of the three that usage names
    root = click.get_current_context().find_root().command
    complete = found(root, {}, "sqlanon", VARIABLE)
    print(complete.source_template % complete.source_vars())
    return 0


def policy_files(incomplete: str) -> list[CompletionItem]:
    """Return the policy files and folders that a path may go on with; without one, let the shell name all files."""
    folder, _, begun = incomplete.rpartition("/")
    parent = f"{folder}/" if "/" in incomplete else ""
    try:
        place = os.path.expanduser(parent) or "."  # noqa: PTH111 - a Path would forget that there is none
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []
    hidden = begun.startswith(".")
    fitting = [item for item in entries if item.name.startswith(begun) and (hidden or not item.name.startswith("."))]
    files = [item.name for item in fitting if item.name.lower().endswith(POLICY_ENDINGS) and item.is_file()]
    if not files:
        return [CompletionItem(incomplete, type="file")]
    folders = [f"{item.name}/" for item in fitting if item.is_dir()]
    return [CompletionItem(parent + name) for name in sorted([*files, *folders])]


def beginning(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """Return the words that begin so."""
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]
