"""Draft a policy from a profile: roles and hierarchies with their reasons as comments, and what a person must decide.

The draft runs as it stands. It is a place to start: it decides nothing silently, and takes the careful side where
nobody has decided. What may single persons out becomes a quasi-identifier, or is dropped; what is left is published as
it is, and the draft says why and asks.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sqlanon.assess.profiling.drafted_hierarchies import SUPPRESS, DraftedHierarchy, Keys, drafted_hierarchy
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.roles import K
from sqlanon.core.audit.judged_columns import SEVERAL
from sqlanon.core.facts import Facts
from sqlanon.core.policy import Policy
from sqlanon.core.policy.paths import is_connection_text, is_url
from sqlanon.core.policy.schema_line import schema_line
from sqlanon.core.source.columns import is_scalar
from sqlanon.errors import InputError

LIMIT = 0.05
PERSONS = ("identifier", "uuid", "email", "phone")
"""Looks of columns whose values name one person each."""
LARGE = 200_000
"""Nodes of a lattice from which on the draft limits the search."""
DECIDE = "DECIDE:"


@dataclass(frozen=True, slots=True)
class Decision(Facts):
    """What a person must decide of a draft: of a column, or of a key of the policy.

    ``instead`` is the line of the policy file that would take the place of the drafted one.
    """

    column: str | None
    key: str
    sentence: str
    instead: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyDraft(Facts):
    """A drafted policy: the text of its file, the policy that it reads as, and what a person must decide."""

    KEYS = "policy decisions"
    yaml: str
    policy: Policy
    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True)
class DraftedColumn:
    """A column of the draft: its keys, the reason of its role, what its hierarchy does, and questions."""

    name: str
    keys: Mapping[str, Any]
    reason: str
    remark: str = ""
    questions: tuple[str, ...] = ()
    nodes: int = 1
    instead: Keys | None = None

    @property
    def other_line(self) -> str | None:
        """The line that would take the place of the drafted one, if the last question is answered otherwise."""
        return None if self.instead is None else f"{_scalar(self.name)}: {_flow(self.instead)}"


def draft(
    profile: Profile, *, k: int = K, output: str = "released.parquet", folder: str | os.PathLike[str] | None = None
) -> PolicyDraft:
    """Return a policy with comments that runs as it stands.

    Args:
        k: how many records a class has at least.
        output: the file of the release, beside the policy.
        folder: where the policy will stand; the source is named relative to it. None: the current one.

    Raises:
        InputError: the source cannot be named in a policy, or has no column.
    """
    base = Path(os.path.abspath(folder or "."))
    columns = [_column(item, profile) for item in profile.columns]
    if all(column.keys["role"] == "drop" for column in columns):
        raise InputError(
            "No column of the source has values that could be published.",
            hint="profile another table, or a view of it.",
        )
    columns = _dropped_last(columns)
    decisions = _decisions(columns, profile, k)
    text = _text(profile, columns, decisions, k=k, output=output, base=base)
    policy = Policy.from_dict(yaml.safe_load(text), base_directory=base)
    return PolicyDraft(text, policy, tuple(decisions))


def _column(found: ColumnProfile, profile: Profile) -> DraftedColumn:
    """Return a column with the role that the profile suggests."""
    keys, drafted = _keys(found, found.policy_role, profile)
    other = found.otherwise
    instead = None if other is None or other == "drop" else _keys(found, other, profile)[0]
    reason = found.reason
    if not is_scalar(found.type):
        reason = f"{reason} Its type has no text that could be generalized.".strip()
    asked = [drafted.question if drafted is not None else None, found.question]
    questions = tuple(item for item in (asked if found.otherwise else asked[::-1]) if item)
    remark, nodes = ("", 1) if drafted is None else (drafted.remark, drafted.nodes)
    return DraftedColumn(found.name, keys, reason, remark, questions, nodes, instead)


def _keys(found: ColumnProfile, role: str, profile: Profile) -> tuple[dict[str, Any], DraftedHierarchy | None]:
    """Return the keys of a column with a role, and the hierarchy that they name."""
    if found.keys is not None and role == found.role:
        return {"role": role, **found.keys}, None
    if role == "sensitive":
        return {"role": role, "models": [{"type": "distinct_l_diversity", "l": 2}]}, None
    if role != "quasi_identifier":
        return {"role": role}, None
    if found.otherwise == "drop":
        drafted = DraftedHierarchy(SUPPRESS, "suppressed where it singles out")
    else:
        drafted = drafted_hierarchy(found, is_text=profile.is_text, records=profile.records)
    return {"role": role, "hierarchy": dict(drafted.keys)}, drafted


def _dropped_last(columns: Sequence[DraftedColumn]) -> list[DraftedColumn]:
    order = ("quasi_identifier", "sensitive", "keep", "drop")
    return sorted(columns, key=lambda item: order.index(item.keys["role"]))


def _entity(profile: Profile) -> ColumnProfile | None:
    """Return the column that names persons who have several records; None without one. A preset knows it.

    Most quasi-identifiers follow from it. Of several such columns it is the one of fewest values: a person has several
    accounts. Where there is none, it is the one of most values.
    """
    fit = profile.preset
    if fit is not None and fit.entity is not None:
        known = profile.column(fit.entity)
        return known if known.policy_role == "drop" and not known.nulls and known.distinct < known.filled else None
    if fit is not None and fit.one_record:
        return None
    named = [
        item
        for item in profile.columns
        if (item.looks_like in PERSONS or item.names_persons > 0)
        and item.policy_role == "drop"
        and not item.nulls
        and 0 < item.distinct * SEVERAL <= item.filled
    ]

    def likely(item: ColumnProfile) -> tuple[int, bool, int]:
        few_first = -item.distinct if item.names_persons > 0 else item.distinct
        return item.names_persons, item.looks_like in PERSONS, few_first

    return max(named, key=likely, default=None)


def _decisions(columns: Sequence[DraftedColumn], profile: Profile, k: int) -> list[Decision]:
    """Return what a person must decide, the policy first."""
    decisions = [
        Decision(
            None, "columns", "Check every role: what an attacker may know of a person must be a quasi_identifier."
        ),
        Decision(None, "privacy", f"Is k = {k} enough? 5 is usual within an organization, 10 to 20 for the public."),
    ]
    if not any(column.keys["role"] == "sensitive" for column in columns):
        sentence = (
            "No column looks sensitive. If one is, say role: sensitive with a model: k-anonymity does not hide it."
        )
        decisions.append(Decision(None, "columns", sentence))
    if (entity := _entity(profile)) is not None:
        sentence = (
            f"A value of it has {entity.filled / entity.distinct:.1f} records on average, so that persons are counted "
            "instead of records (entity). Does it name persons? Otherwise leave that line out."
        )
        decisions.append(Decision(entity.name, "entity", sentence))
    elif profile.preset is not None and profile.preset.entity is not None:
        nameless = profile.column(profile.preset.entity)
        if nameless.nulls:
            sentence = (
                f"{nameless.nulls:,} records do not say whose they are: records are counted instead of persons. "
                f"Leave them out in a view, and write entity: {_scalar(nameless.name)}."
            )
            decisions.append(Decision(nameless.name, "columns", sentence))
    for column in columns:
        for question in column.questions:
            instead = column.other_line if question == column.questions[-1] else None
            decisions.append(Decision(column.name, "columns", question, instead))
    return decisions


TITLES = {
    "quasi_identifier": "Others may know these of a person: they are generalized until each class has k records.",
    "sensitive": "Others must not learn these: they are published as they are, and protected by their models.",
    "keep": "These are published as they are. A run refuses them if they identify persons by themselves.",
    "drop": "These are not published.",
}


def _text(
    profile: Profile,
    columns: Sequence[DraftedColumn],
    decisions: Sequence[Decision],
    *,
    k: int,
    output: str,
    base: Path,
) -> str:
    """Return the text of the policy file."""
    lines = [
        schema_line(base),
        "# Drafted by `sqlanon profile`: a starting point that runs as it is. No value of the table is in it.",
        *([] if profile.preset is None else _comment(profile.preset.sentence, 0)),
        *_comment(f"A person must decide {len(decisions)} things, each marked {DECIDE} {_listed(decisions)}", 0),
        "version: 1",
        *_source_lines(profile, base),
        "",
        *_comment(f"{DECIDE} {decisions[0].sentence}", 0),
        "columns:",
    ]
    role = None
    for item in columns:
        if item.keys["role"] != role:
            role = item.keys["role"]
            lines += ["", *_comment(TITLES[role], 2)]
        lines += _comment(" ".join(filter(None, [item.reason, f"Levels: {item.remark}." if item.remark else ""])), 2)
        for question in item.questions:
            lines += _comment(f"{DECIDE} {question}", 2)
        if item.other_line is not None:
            lines.append("  #   " + "".join(sign if sign.isprintable() else " " for sign in item.other_line))
        lines.append(f"  {_scalar(item.name)}: {_flow(item.keys)}")
    lines += ["undeclared: error   # a column that appears later ends the run instead of being published", ""]
    for decision in decisions[1:]:
        if decision.column is None:
            lines += _comment(f"{DECIDE} {decision.sentence}", 0)
    lines += [
        f"privacy: [{{type: k_anonymity, k: {k}}}]",
        f"suppression_limit: {LIMIT}   # the share of records that may be left out, so that a few do not coarsen all",
        "uncovered: top   # a value that a hierarchy cannot read (a text among numbers) is published as *",
    ]
    nodes = 1
    for item in columns:
        nodes *= item.nodes
    for decision in decisions:
        if decision.key == "entity":
            lines += [*_comment(f"{DECIDE} {decision.sentence}", 0), f"entity: {_scalar(decision.column or '')}"]
    if nodes > LARGE:
        lines.append(
            f"search: {{time_limit: 60, gap: 0.02}}   # {nodes:,} combinations of levels: near the optimum is enough"
        )
    lines.append(f"output: {{file: {_scalar(output)}}}")
    return "\n".join(lines) + "\n"


def _listed(decisions: Sequence[Decision]) -> str:
    """Return what the decisions are about, in a few words."""
    of_policy = [{"columns": "the roles", "privacy": "k"}[item.key] for item in decisions if item.column is None]
    columns = [item.column for item in decisions if item.column is not None]
    return ", ".join(dict.fromkeys([*of_policy, *columns])) + "."


def _source_lines(profile: Profile, base: Path) -> list[str]:
    source = profile.source
    table = [] if profile.table is None else [f"table: {_scalar(profile.table)}"]
    if profile.is_frame:
        return [*_comment(f"The source is the {source} that is passed to sqlanon.anonymize.", 0), *table]
    if not is_url(source) and not is_connection_text(source):
        path = Path(os.path.abspath(source))
        near = path.is_relative_to(base) or base.is_relative_to(path.parent) or path.parent.parent in base.parents
        source = Path(os.path.relpath(path, base)).as_posix() if near else str(path)
    lines = [f"source: {_scalar(source)}", *table]
    if profile.csv:
        lines.append(f"csv: {_flow(profile.csv)}")
    return lines


def _comment(text: str, indent: int) -> list[str]:
    """Return a text as lines of a comment; signs that would end a line are shown as spaces."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    prefix = " " * indent + "# "
    return textwrap.wrap(plain, 118, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False)


def _flow(value: Any) -> str:
    """Return keys on one line, as YAML."""
    plain = {key: dict(item) if isinstance(item, Mapping) else item for key, item in dict(value).items()}
    return yaml.safe_dump(plain, default_flow_style=True, sort_keys=False, width=10**9, allow_unicode=True).strip()


def _scalar(text: str) -> str:
    """Return a text on one line as YAML reads it back, in quotes where it needs them."""
    style = None if text.isprintable() else '"'
    written = yaml.safe_dump(text, default_style=style, width=10**9, allow_unicode=True)
    return written.removesuffix("...\n").rstrip("\n")
