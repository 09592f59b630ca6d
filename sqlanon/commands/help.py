"""``sqlanon help``: what a key of a policy means, from the tables that the checks read."""

from __future__ import annotations

import difflib
import shutil
import textwrap
from collections.abc import Iterator, Sequence

import click
import yaml

from sqlanon.commands.reference.entries import GROUPS, KeyEntry, below, entries
from sqlanon.errors import InputError
from sqlanon.version import DOCUMENTATION

WIDEST = 100
"""Characters of a line at most."""
INDENT = 10
"""Characters before what stands beside a label."""


def execute(key: tuple[str, ...]) -> int:
    """Carry the command out, with the arguments of ``usage``, and return the exit code."""
    known = entries()
    if not key:
        print("\n".join(_overview(known)))
        return 0
    wanted = [part for word in key for part in word.lower().replace("-", "_").split(".") if part]
    command = _command(key)
    matches = find_entries(wanted, known)
    if not matches and command is None:
        raise InputError(
            f"There is no key {'.'.join(key)!r} in a policy, or a document of counts.", hint=_hint(wanted, known)
        )
    if not matches and command is not None:
        print(command.get_help(click.Context(command, info_name=" ".join(["sqlanon", *key]))))
        return 0
    print("\n".join(_page(matches[0], known) if len(matches) == 1 else _list(matches)))
    others = [
        each.name for each in known if len(matches) == 1 and each is not matches[0] and each.path[-1] == wanted[-1]
    ]
    if others:
        print(f"\nOther keys of this name: {', '.join(others)}.")
    if command is not None:
        print(f"\nThere is a command of this name, too: sqlanon {' '.join(key)} --help")
    return 0


def find_entries(wanted: Sequence[str], known: Sequence[KeyEntry]) -> list[KeyEntry]:
    """Return the entries that a path means, which may leave out its beginning and steps between.

    A whole path comes before a part of one, a key before a word that a key may be.
    """
    path = tuple(wanted)
    exact = [entry for entry in known if tuple(map(str.lower, entry.path)) == path]  # D, V and j have their letters
    if exact or not path:
        return exact
    named = [entry for entry in known if entry.path[-1] == path[-1] and _within(path, entry.path)]
    return named or [entry for entry in known if path[-1] in entry.words and _within(path[:-1], entry.path)]


def _within(part: Sequence[str], path: Sequence[str]) -> bool:
    steps = iter(path)
    return all(step in steps for step in part)


def _command(words: Sequence[str]) -> click.Command | None:
    """Return the command of these words; None if there is none."""
    found: click.Command | None = click.get_current_context().find_root().command
    for word in words:
        found = found.commands.get(word) if isinstance(found, click.Group) else None
    return found


def _hint(wanted: Sequence[str], known: Sequence[KeyEntry]) -> str:
    """Return the names that are most like what was asked for."""
    names = dict.fromkeys(name for entry in known for name in (entry.name, entry.path[-1], *entry.words))
    close = difflib.get_close_matches(".".join(wanted), names, 3) or difflib.get_close_matches(wanted[-1], names, 3)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return "sqlanon help lists the keys, sqlanon --help the commands."


def _overview(known: Sequence[KeyEntry]) -> Iterator[str]:
    """Yield all keys in groups."""
    top = {entry.name: entry for entry in known if len(entry.path) == 1}
    grouped = {title: [name for name in names if name in top] for title, names in GROUPS.items()}
    for title, names in grouped.items():
        yield f"{title}:"
        yield from _rows([(name, top[name].about) for name in names])
        yield ""
    others = [name for name in top if not any(name in names for names in grouped.values())]
    if others:
        yield "Of packages that are installed here:"
        yield from _rows([(name, top[name].about) for name in others])
        yield ""
    yield from _wrapped(
        "sqlanon help KEY explains one, and lists what stands below it: columns (roles, hierarchies, models), "
        "hierarchy, privacy, search.strategy, quality.measure. sqlanon --help lists the commands.",
        0,
    )


def _list(matches: Sequence[KeyEntry]) -> Iterator[str]:
    """Yield several entries of one name."""
    yield "Several keys have this name:"
    yield from _rows([(entry.name, entry.about) for entry in matches])
    yield ""
    yield f"One of them: sqlanon help {matches[0].name}"


def _page(entry: KeyEntry, known: Sequence[KeyEntry]) -> Iterator[str]:
    """Yield the lines that describe one entry."""
    yield entry.name
    yield ""
    yield from _wrapped(entry.about, 0)
    yield ""
    yield from _labelled("Type", entry.label if not any(entry.words.values()) else "one of")
    if any(entry.words.values()):
        yield from _rows(list(entry.words.items()), INDENT)
    default = "none: it must be given" if entry.required else entry.default
    for label, text in (("Unit", entry.unit), ("Default", default)):
        if text:
            yield from _labelled(label, text)
    inner = below(entry.path, known)
    for title, listed in (
        ("Keys", [each for each in inner if not each.chosen]),
        ("One of", [each for each in inner if each.chosen]),
    ):
        if listed:
            yield f"{title}:"
            yield from _rows([(each.path[-1], each.about) for each in listed])
    if entry.example:
        yield "Example:"
        yield from block(entry.example).splitlines()
    yield ""
    yield f"{DOCUMENTATION}/{entry.page}"


def block(example: str) -> str:
    """Return an example as YAML of several lines, indented."""
    document = yaml.safe_load(example)
    written = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, allow_unicode=True, width=_width() - 4)
    if not any(isinstance(value, dict | list) for value in document.values()):
        written = example
    return textwrap.indent(written.rstrip("\n"), "  ")


def _labelled(label: str, text: str) -> list[str]:
    return textwrap.wrap(text, _width(), initial_indent=f"{label}:".ljust(INDENT), subsequent_indent=" " * INDENT)


def _rows(rows: Sequence[tuple[str, str]], indent: int = 2) -> Iterator[str]:
    """Yield names with what they mean beside them; a sentence and no more."""
    wide = max(len(name) for name, _ in rows) + 2
    for name, about in rows:
        beginning = " " * indent + name.ljust(wide)
        yield from textwrap.wrap(
            first_sentence(about), _width(), initial_indent=beginning, subsequent_indent=" " * len(beginning)
        ) or [beginning.rstrip()]


def first_sentence(text: str) -> str:
    """Return the first sentence of a text.

    >>> first_sentence("Where it is (.csv, .parquet). A path is relative.")
    'Where it is (.csv, .parquet).'
    """
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, _width(), initial_indent=" " * indent, subsequent_indent=" " * indent)


def _width() -> int:
    return min(shutil.get_terminal_size().columns, WIDEST)
