"""Write docs/reference: the keys of a policy, the command line, and the JSON Schema, as the code knows them.

python docs/generate.py            writes the files
python docs/generate.py --check    exits with 1 if one of them is not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from sqlanon.cli import main
from sqlanon.commands.reference.entries import GROUPS, KeyEntry, below, entries
from sqlanon.commands.reference.schema import policy_schema
from sqlanon.core.policy.schema_line import SCHEMA_FILE

FOLDER = Path(__file__).parent / "reference"
MADE = "<!-- made by docs/generate.py from the tables that the checks read: edit those, and run it again -->"
TITLES = {
    ("columns",): "Keys of a column",
    ("columns", "hierarchy"): "Hierarchies",
    ("columns", "models"): "Privacy models of a sensitive column",
    ("privacy",): "Privacy models",
}
"""Titles of what stands below a key, where the key itself is not the title."""


def pages() -> dict[str, str]:
    """Return the text of each file, by its name."""
    return {
        "policy-keys.md": "\n".join(_policy_keys()) + "\n",
        "command-line.md": "\n".join(_command_line()) + "\n",
        SCHEMA_FILE: json.dumps(policy_schema(), indent=1, ensure_ascii=False) + "\n",
    }


def _policy_keys() -> Iterator[str]:
    known = entries()
    yield "# Keys of a policy"
    yield ""
    yield MADE
    yield ""
    yield "Every key of a policy, or of a document of counts, with its type, its default and an example."
    yield "`sqlanon help KEY` says the same in a terminal, the [JSON Schema](policy.schema.json) to an editor"
    yield "([how](../policy.md#in-an-editor))."
    for title, names in GROUPS.items():
        top = [entry for entry in known if len(entry.path) == 1 and entry.name in names]
        yield from ["", f"## {title}", "", *_table(top)]
        for entry in top:
            yield from _below(entry, known)


def _below(entry: KeyEntry, known: Sequence[KeyEntry]) -> Iterator[str]:
    """Yield what stands below a key: its keys in a table, then the models or hierarchies that it may hold."""
    inner = below(entry.path, known)
    keys = [each for each in inner if not each.chosen]
    if keys:
        yield from ["", f"### {TITLES.get(entry.path, f'Keys of `{entry.name}`')}", "", *_table(keys)]
    chosen = [each for each in inner if each.chosen]
    if chosen:
        title = TITLES.get(entry.path, f"Types of `{entry.name}`") if not keys else f"Types of `{entry.name}`"
        yield from ["", f"### {title}"]
        for each in chosen:
            yield from ["", f"#### `{each.path[-1]}`", "", _text(each.about), "", f"`{each.example}`"]
            if options := below(each.path, known):
                yield from ["", *_table(options)]
    for each in keys:
        yield from _below(each, known)


def _table(listed: Sequence[KeyEntry]) -> Iterator[str]:
    yield "| key | what it says | type | default |"
    yield "|---|---|---|---|"
    for entry in listed:
        about = [_text(entry.about)]
        about += [f"<br>`{word}`: {_text(meaning)}" for word, meaning in entry.words.items() if meaning]
        if entry.unit:
            about.append(f"<br>Unit: {_text(entry.unit)}")
        if entry.example:
            about.append(f"<br>`{entry.example.replace('|', chr(92) + '|')}`")
        label = "one of the words" if any(entry.words.values()) else entry.label
        default = "*needed*" if entry.required else _text(entry.default)
        name = f"[`{entry.path[-1]}`](../{entry.page})"
        yield f"| {name} | {''.join(about)} | {_text(label)} | {default} |"


def _text(text: str) -> str:
    """Return a text as it stands in a table of Markdown."""
    for sign in ("\\", "*", "<", "|"):
        text = text.replace(sign, f"\\{sign}")
    return text


def _command_line() -> Iterator[str]:
    yield "# The command line"
    yield ""
    yield MADE
    yield ""
    yield "Every command with its arguments and options, as `sqlanon COMMAND --help` prints them. What they are for,"
    yield "with examples: [the commands](../commands.md)."
    for words, command in _commands(main, ("sqlanon",)):
        context = click.Context(command, info_name=" ".join(words), **main.context_settings)
        pieces = " ".join(piece for piece in command.collect_usage_pieces(context))
        yield from ["", f"## {' '.join(words)}" if len(words) > 1 else "## sqlanon, for every command", ""]
        yield from ["```text", f"{' '.join(words)} {pieces}", "```"]
        yield from ["", *_paragraphs(command.help or "")]
        usual = command.get_help_option(context)
        options = [each for each in command.get_params(context) if isinstance(each, click.Option) and each != usual]
        records = [each.get_help_record(context) for each in options]
        if rows := [record for record in records if record is not None]:
            yield from ["| option | what it does |", "|---|---|"]
            yield from (f"| `{name.replace('|', chr(92) + '|')}` | {_text(about)} |" for name, about in rows)


def _commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command, and those that stand below it."""
    yield words, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(inner, (*words, name))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from [_text(" ".join(paragraph.split())), ""]


def stale() -> list[str]:
    """Return the names of files that are not up to date."""
    found = []
    for name, text in pages().items():
        path = FOLDER / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            found.append(name)
    return found


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        if old := stale():
            sys.exit(f"not up to date: {', '.join(old)}; run: python docs/generate.py")
    else:
        for name, text in pages().items():
            (FOLDER / name).write_text(text, encoding="utf-8")
