"""The text of a drafted policy: YAML with reasons, questions and the releases that were searched as comments."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sqlanon.assess.profiling.facts import Profile
from sqlanon.assess.profiling.proposed import Proposal
from sqlanon.assess.profiling.questions import Asked, DraftedColumn
from sqlanon.assess.profiling.text import proposal_lines
from sqlanon.core.policy.paths import is_connection_text, is_url
from sqlanon.core.policy.schema_line import schema_line

TITLES = {
    "pseudonym": "Keyed pseudonyms link the records of a person.",
    "shift": "Dates are shifted, by one number of days a person.",
    "quasi_identifier": "Others may know these of a person: they are generalized until each class has k records.",
    "sensitive": "Others must not learn these: they are published as they are, and protected by their models.",
    "keep": "These are published as they are. A run refuses them if they identify persons by themselves.",
    "drop": "These are not published.",
}
DECIDE = "DECIDE:"
DRAFTED = "Drafted by `sqlanon profile`: a starting point that runs as it is. No value of the table is in it."


@dataclass(frozen=True, slots=True)
class PolicyHead:
    """Where a policy comes from: a sentence, the lines that say what is read, and what becomes of other columns."""

    sentence: str
    origin: Sequence[str]
    undeclared: str = "error"


def policy_text(
    profile: Profile,
    columns: Sequence[DraftedColumn],
    asked: Asked,
    settings: Sequence[str],
    base: Path,
    proposals: Sequence[Proposal] = (),
    chosen: Proposal | None = None,
    *,
    head: PolicyHead | None = None,
) -> str:
    """Return the text of the policy file.

    Args:
        settings: the lines below the columns.
        proposals: the releases that were searched; the draft makes the chosen one.
        head: where the policy comes from; None: it is the draft of a profile.
    """
    head = head or PolicyHead(DRAFTED, source_lines(profile, base))
    of_policy = [item for item in asked.decisions if item.column is None]
    marks = _marks(asked)
    lines = [
        schema_line(base),
        f"# {head.sentence}",
        *([] if profile.preset is None else comment(profile.preset.sentence, 0)),
        *comment(f"A person must decide {len(asked.decisions)} things, each marked {DECIDE}", 0),
        *(line for number, item in enumerate(asked.decisions, 1) for line in comment(f"{number}. {item.line}", 0)),
        *_proposed(proposals, chosen),
        "version: 1",
        *(
            line
            for item in [*of_policy, *asked.notes]
            if item.key == "csv"
            for line in comment(f"{DECIDE} {item.line}", 0)
        ),
        *head.origin,
        "",
        *(line for item in of_policy if item.key == "columns" for line in comment(f"{DECIDE} {item.sentence}", 0)),
        "columns:",
    ]
    role = None
    for item in columns:
        if item.keys["role"] != role:
            role = item.keys["role"]
            lines += ["", *comment(TITLES[role], 2)]
        lines += comment(" ".join(filter(None, [item.reason, f"Levels: {item.remark}." if item.remark else ""])), 2)
        for mark in marks.get(item.name, ()):
            lines += comment(mark, 2)
        if (line := other_line(item)) is not None:
            lines.append("  #   " + "".join(sign if sign.isprintable() else " " for sign in line))
        lines.append(f"  {scalar(item.name)}: {flow(item.keys)}")
    later = {"error": "ends the run instead of being published", "drop": "is not published"}.get(head.undeclared, "")
    lines += [f"undeclared: {head.undeclared}   # a column that appears later {later}", ""]
    for asked_of in of_policy:
        if asked_of.key not in ("columns", "csv"):
            lines += comment(f"{DECIDE} {asked_of.sentence}", 0)
    return "\n".join([*lines, *settings]) + "\n"


def _marks(asked: Asked) -> dict[str, list[str]]:
    """Return the questions at each column; one about several columns stands at the first of them."""
    marks: dict[str, list[str]] = {}
    for word, items in ((DECIDE, asked.decisions), ("Note:", asked.notes)):
        for item in items:
            if item.column is not None:
                others = item.columns[1:]
                also = f" (the same of {', '.join(others)})" if others else ""
                marks.setdefault(item.column, []).append(f"{word} {item.sentence}{also}")
    return marks


def _proposed(proposals: Sequence[Proposal], chosen: Proposal | None) -> list[str]:
    """Return the releases that were searched, as comments."""
    if chosen is None:
        return []
    plain = ["".join(sign if sign.isprintable() else " " for sign in line) for line in proposal_lines(proposals)]
    said = [line for item in chosen.unmet for line in comment(item.sentence, 0)]
    head = f"Releases that were searched; this draft makes the one that is {chosen.name!r}:"
    return ["#", *comment(head, 0), *(f"#   {line}" for line in plain), *said, "#"]


def other_line(item: DraftedColumn) -> str | None:
    """Return the line that would take the place of a drafted column, if it is decided otherwise."""
    return None if item.instead is None else f"{scalar(item.name)}: {flow(item.instead)}"


def source_lines(profile: Profile, base: Path) -> list[str]:
    """Return the lines that say what is read, and how."""
    source = profile.source
    table = [] if profile.table is None else [f"table: {scalar(profile.table)}"]
    if profile.is_frame:
        return [*comment(f"The source is the {source} that is passed to sqlanon.anonymize.", 0), *table]
    if not is_url(source) and not is_connection_text(source):
        path = Path(os.path.abspath(source))
        near = path.is_relative_to(base) or base.is_relative_to(path.parent) or path.parent.parent in base.parents
        source = Path(os.path.relpath(path, base)).as_posix() if near else str(path)
    lines = [f"source: {scalar(source)}", *table]
    if profile.csv:
        lines.append(f"csv: {flow(profile.csv)}")
    lines += [f"{name}: {flow(options)}" for name, options in profile.formats.items()]
    return lines


def comment(text: str, indent: int) -> list[str]:
    """Return a text as lines of a comment; signs that would end a line are shown as spaces."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    prefix = " " * indent + "# "
    return textwrap.wrap(plain, 118, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False)


def flow(value: Any) -> str:
    """Return keys on one line, as YAML."""
    plain = {key: dict(item) if isinstance(item, Mapping) else item for key, item in dict(value).items()}
    return yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=10**9, allow_unicode=True).strip()


def scalar(text: str) -> str:
    """Return a text on one line as YAML reads it back, in quotes where it needs them."""
    style = None if text.isprintable() else '"'
    written = yaml.safe_dump(text, default_style=style, width=10**9, allow_unicode=True)
    return written.removesuffix("...\n").rstrip("\n")
