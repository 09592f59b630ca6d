"""Draft a policy from a profile: roles and hierarchies with their reasons as comments, and what a person must decide.

The draft runs as it stands. It is a place to start: it decides nothing silently, and takes the careful side where
nobody has decided. What may single persons out becomes a quasi-identifier, or is dropped; what is left is published as
it is, and the draft says why and asks.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from sqlanon.assess.profiling.attributes import belong_together
from sqlanon.assess.profiling.draft_text import other_line, policy_text, scalar
from sqlanon.assess.profiling.drafted_hierarchies import SUPPRESS, DraftedHierarchy, drafted_hierarchy, travels_with
from sqlanon.assess.profiling.entities import entity_of
from sqlanon.assess.profiling.facts import ColumnProfile, Profile, few_or, percent
from sqlanon.assess.profiling.proposals import LOST, propose
from sqlanon.assess.profiling.proposed import BESIDE_FIRST, Proposal, published_of
from sqlanon.assess.profiling.questions import MANY, PERSONS, PROTECTION, ROLES, Asked, Decision, DraftedColumn, ask
from sqlanon.assess.profiling.roles import K
from sqlanon.assess.profiling.searched import ASK_LEFT_OUT, FEW_OUTCOMES, as_searched, with_known_events
from sqlanon.assess.profiling.vocabulary import KNOWN
from sqlanon.core.audit.judged_columns import DETERMINES
from sqlanon.core.facts import Facts
from sqlanon.core.policy import Policy
from sqlanon.core.source.columns import is_scalar
from sqlanon.errors import IdentifyingColumnError, InputError, SqlanonError

LIMIT, MOST_PERSONS = 0.05, 0.3
"""Of records that may be left out; and of persons of whom one may be, where each has many."""
MOSTLY, CLOSENESS = 0.8, 0.3
"""Share of the records that hold one value from which on that value may stand alone in a class; and by how much the
shares of the others, which are what is sensitive, may be larger in a class than in the table (t-closeness)."""
REFUSED = "A run would refuse it: it identifies persons, or gives away a column that is generalized."
SOME_NULLS, OF_NULL = 0.05, "NULL counts as a value of it: with it, a class needs one other. "
"""The share of the records without a value of a protected column from which on a draft says what that means."""
UNEVENLY = "Of the records with one of its values, as they are published, {} are left out."
LARGE = 200_000
"""Nodes of a lattice from which on the draft limits the search."""


@dataclass(frozen=True, slots=True)
class PolicyDraft(Facts):
    """A drafted policy.

    Attributes:
        yaml, policy: the text of its file, and the policy that it reads as.
        decisions: what a person must decide, what changes most first; ``notes`` are the questions beyond.
        proposals: the releases that were searched; ``proposal`` is the name of the one that the draft makes.
        warnings: why none was searched.
        profile: with the roles that the columns have in the draft.
        columns: with the reason of each role.
    """

    KEYS = "policy decisions notes proposal proposals warnings"
    yaml: str
    policy: Policy
    decisions: tuple[Decision, ...]
    notes: tuple[Decision, ...]
    proposals: tuple[Proposal, ...]
    proposal: str | None
    warnings: tuple[str, ...]
    profile: Profile
    columns: tuple[DraftedColumn, ...]


def draft(
    profile: Profile,
    *,
    k: int = K,
    output: str = "released.parquet",
    folder: str | os.PathLike[str] | None = None,
    search: bool | Literal["one rule"] = False,
    source: object = None,
    proposal: str | None = None,
    searched: tuple[Proposal, ...] | None = None,
) -> PolicyDraft:
    """Return a policy with comments that runs as it stands.

    Args:
        k: how many records a class has at least.
        output: the file of the release, beside the policy.
        folder: where the policy will stand; the source is named relative to it. None: the current one.
        search: look for releases that the draft could make (``proposals``), and make it of one of them; ``one rule``:
            among those of one rule for all records, which takes a part of the time.
        source: the frame or connection that was profiled, to search it.
        proposal: the name of the release that it is made of; None is the first one, which is balanced.
        searched: the releases that an earlier draft of this profile has found; they are not looked for again.

    Raises:
        InputError: the source cannot be named in a policy, or has no column; no proposal has the name.
    """
    base = Path(os.path.abspath(folder or "."))
    entity = entity_of(profile)
    columns = [_column(item, profile) for item in profile.columns]
    if all(column.keys["role"] == "drop" for column in columns):
        raise InputError(
            "No column of the source has values that could be published.",
            hint="profile another table, or a view of it.",
        )
    proposals: tuple[Proposal, ...] = ()
    warnings: tuple[str, ...] = ()
    if search and profile.records:
        judged = as_searched(profile, None if entity is None else entity.name)
        if searched is None:
            judged, proposals, warnings = _search(judged, source, k=k, base=base, entity=entity, several=search is True)
        else:
            judged, proposals = with_known_events(judged, {c.name for item in searched for c in item.columns}), searched
        if proposals:
            columns, profile = [_column(item, judged) for item in judged.columns], judged
    chosen = _chosen(proposals, proposal)
    if chosen is not None:
        columns = _as_proposed(columns, chosen, k, profile)
        profile = _with_roles(profile, columns)
    columns = _dropped_last(columns)
    lines = {item.name: line for item in columns if (line := other_line(item)) is not None}
    asked = ask(profile, columns, _about_policy(columns, profile, k, chosen, entity), lines)
    settings = _settings(columns, k, output, chosen, entity)
    text = policy_text(profile, columns, asked, settings, base, proposals, chosen)
    policy = Policy.from_dict(yaml.safe_load(text), base_directory=base)
    return PolicyDraft(
        text,
        policy,
        tuple(asked.decisions),
        tuple(asked.notes),
        proposals,
        None if chosen is None else chosen.name,
        warnings,
        profile,
        tuple(columns),
    )


def drafted_keys(found: ColumnProfile, role: str, profile: Profile) -> dict[str, Any]:
    """Return the keys that a draft would give a column with a role."""
    return _keys(found, role, profile)[0]


def _search(
    judged: Profile, source: object, *, k: int, base: Path, entity: ColumnProfile | None, several: bool
) -> tuple[Profile, tuple[Proposal, ...], tuple[str, ...]]:
    """Return what could be released, with the roles that the columns have then, and warnings.

    Events that a release gives up, or of which it leaves many records out, because they happened to most of a class, as
    to the old, are tried as what others know.
    """
    tried = [_column(item, judged) for item in judged.columns]
    if all(column.nodes < 2 for column in tried):
        return judged, (), ()
    found, warnings = _proposals(tried, judged, source, k=k, base=base, entity=entity, several=several)
    given_up = {name for proposal in found[:1] for name, why in proposal.displaced.items() if why == LOST}
    lost = given_up.union(*(proposal.counted.uneven for proposal in found[:1]))
    known = with_known_events(judged, lost)
    if known == judged:
        return judged, found, warnings
    tried = [_column(item, known) for item in known.columns]
    again, more = _proposals(tried, known, source, k=k, base=base, entity=entity, several=several)
    events = {item.name for item, before in zip(known.columns, judged.columns, strict=True) if item != before}
    published = {item.name for proposal in again[:1] for item in proposal.columns}
    return (known, again, more) if events <= published else (judged, found, warnings)


def _proposals(
    columns: Sequence[DraftedColumn],
    profile: Profile,
    source: object,
    *,
    k: int,
    base: Path,
    entity: ColumnProfile | None,
    several: bool,
) -> tuple[tuple[Proposal, ...], tuple[str, ...]]:
    """Return what could be released, by searches of the source; nothing, and a warning, where it cannot be searched.

    Columns that a run would refuse, because they identify persons or give others away, are left out of each. Where the
    first publishes nothing of those others, they are left out in place of them, if it then publishes more.
    """
    if profile.is_frame and source is None:
        return (), ("No release was searched: the frame or connection is not at hand.",)
    found = {item.name: item for item in profile.columns}
    refused: dict[str, str] = {}
    because_of: dict[str, Sequence[str]] = {}
    first: tuple[Proposal, ...] = ()
    while True:
        tried = [replace(c, keys={"role": "drop"}) if c.name in refused else c for c in columns]
        text = policy_text(profile, tried, Asked(), _settings(tried, k, "released.parquet", None, entity), base)
        policy = Policy.from_dict(yaml.safe_load(text), base_directory=base)
        try:
            made = propose(source, policy, found, several_rules=several)
        except SqlanonError as error:
            identifying = error.columns if isinstance(error, IdentifyingColumnError) else {}
            drafted = {c.name: c.keys for c in tried if c.keys["role"] != "drop"}
            more: dict[str, str] = {}
            for name in sorted(drafted.keys() & identifying.keys()):
                given = _given_away(identifying[name])
                flags = [n for n in given if found[n].distinct <= FEW_OUTCOMES and found[n].topic not in KNOWN]
                if "level" in drafted[name] and flags:  # a band says as much: no income, of who earns nothing
                    more |= dict.fromkeys(flags, f"It follows from {name!r}, which is published in bands.")
                    because_of |= dict.fromkeys(flags, (name,))
                else:
                    more[name] = REFUSED
                    because_of[name] = given
            if not more:
                return first, () if first else (f"No release was searched: {error.message}",)
            refused |= more
            continue
        made = tuple(replace(item, displaced={**item.displaced, **refused}) for item in made)
        if first:
            more_than = published_of(first[0]) < published_of(made[0])
            return made if more_than else first, ()
        freed = [name for name in refused if because_of[name] and not {*because_of[name]} & published_of(made[0])]
        if not freed:
            return made, ()
        first, others = made, {name for freed_one in freed for name in because_of[freed_one]}
        refused = {name: why for name, why in refused.items() if name not in freed}
        refused |= {name: made[0].displaced.get(name, BESIDE_FIRST) for name in others if name in found}


def _given_away(judged: Mapping[str, object]) -> Sequence[str]:
    """Return the quasi-identifiers that a column gives away, as an error tells of it."""
    determined = judged.get("determines", {})
    shares = determined if isinstance(determined, Mapping) else {}
    return [name for name, share in shares.items() if share >= DETERMINES]


def _chosen(proposals: Sequence[Proposal], name: str | None) -> Proposal | None:
    """Return the proposal that a draft is made of.

    Raises:
        InputError: none has the name.
    """
    if not proposals or name is None:
        return proposals[0] if proposals else None
    for item in proposals:
        if item.name == name:
            return item
    names = ", ".join(repr(item.name) for item in proposals)
    raise InputError("No release of this name was proposed.", hint=f"those of this table are {names}.")


def _as_proposed(columns: Sequence[DraftedColumn], proposal: Proposal, k: int, profile: Profile) -> list[DraftedColumn]:
    """Return the columns as a proposal publishes them: what is gone is dropped, and what travels with it."""
    left = [item for item in proposal.columns if not item.fully_suppressed]
    gone = {item.name for item in proposal.columns if item.fully_suppressed} if left else set()
    gone |= proposal.displaced.keys()
    result = []
    for column in columns:
        leader = column.keys.get("with")
        leader = leader["column"] if isinstance(leader, Mapping) else leader
        because = None
        if column.name in proposal.displaced:
            because = proposal.displaced[column.name]
        elif leader in gone:
            because = f"{leader!r}, with which it travels, is left out."
        elif column.name in gone:
            because = f"Nothing of it is left in the release that is {proposal.name!r}."
        elif column.name in proposal.blank:
            because = f"It would be blank where {leader!r} is generalized further."
        elif column.name in proposal.left_out:
            because = "Protected by its model, it would cost too much of the other columns."
        if because is not None:
            asked = (ASK_LEFT_OUT,) if column.name in proposal.left_out else ()
            column = replace(column, keys={"role": "drop"}, reason=f"{column.reason} {because}", remark="", nodes=1,
                             questions=asked, instead=column.keys)  # fmt: skip
        elif column.keys["role"] == "quasi_identifier":
            limit, weight = proposal.max_levels.get(column.name), proposal.weights.get(column.name)
            more = {"max_level": limit} if limit is not None else {}
            column = replace(column, keys={**column.keys, **more, **({"weight": weight} if weight else {})})
        elif (column.name,) in proposal.counted.few_if_known:
            of_null = OF_NULL if profile.column(column.name).nulls > SOME_NULLS * profile.records else ""
            known = _said_of_known(column.name, proposal, k)
            column = replace(column, reason=f"{column.reason} {of_null}{known}")
        if because is None and column.name in proposal.counted.uneven:
            lost = UNEVENLY.format(percent(proposal.counted.uneven[column.name]))
            column = replace(column, reason=f"{column.reason} {lost}")
        result.append(column)
    return result


def _said_of_known(name: str, proposal: Proposal, k: int) -> str:
    """Return in words whom a protected column singles out if others know it, alone, with the one other that singles out
    most, and with all; no count below k but 0, since the file of a policy may be handed on."""

    def said(count: int) -> str:
        return f"fewer than {k}" if 0 < count < k else f"{count:,}"

    few, all_of_them = proposal.counted.few_if_known, len(proposal.protected)
    of_all = f"{few[()]:,} published {proposal.unit}"
    with_one = max((count for known, count in few.items() if len(known) == 2 and name in known), default=0)
    others = f"; with one more sensitive column, up to {said(with_one)}" if all_of_them > 2 else ""
    others += f"; with all, {said(few[proposal.protected])}" if all_of_them > 1 else ""
    return f"If others know it too, {said(few[(name,)])} of {of_all} stand in groups of fewer than {k}{others}."


def _with_roles(profile: Profile, columns: Sequence[DraftedColumn]) -> Profile:
    """Return a profile whose columns have the roles of the draft."""
    drafted = {item.name: item for item in columns}
    whole = {item.name for item in columns if item.keys["role"] in ("keep", "sensitive") and "with" not in item.keys}
    kept = profile.kept_together if profile.kept_together and whole == {*profile.kept_together.columns} else None
    return replace(
        profile,
        kept_together=kept,
        columns=tuple(
            replace(item, role="drop", reason=drafted[item.name].reason, question=None)
            if drafted[item.name].keys["role"] == "drop" and item.policy_role != "drop"
            else item
            for item in profile.columns
        ),
    )


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


def kept_level(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a column that keep it at one level, whatever its role becomes; none where it has no level."""
    return {key: keys[key] for key in ("hierarchy", "level")} if "level" in keys else {}


def _keys(found: ColumnProfile, role: str, profile: Profile) -> tuple[dict[str, Any], DraftedHierarchy | None]:
    """Return the keys of a column with a role, and the hierarchy that they name."""
    if found.keys is not None and role == found.role:
        return {"role": role, **found.keys}, None
    own = kept_level(found.keys or {})
    if role == "sensitive":
        rare = found.most > MOSTLY * found.records
        model = {"type": "t_closeness", "t": CLOSENESS} if rare else {"type": "distinct_l_diversity", "l": 2}
        return {"role": role, **own, "models": [model]}, None
    if role != "quasi_identifier":
        return {"role": role} | _travels(found, role, profile) | (own if role == "keep" else {}), None
    if found.otherwise == "drop":
        drafted = DraftedHierarchy(SUPPRESS, "suppressed where it singles out")
    else:
        drafted = drafted_hierarchy(found, is_text=profile.is_text, records=profile.records)
    return {"role": role, "hierarchy": dict(drafted.keys)}, drafted


def _travels(found: ColumnProfile, role: str, profile: Profile) -> dict[str, Any]:
    """Return the key of a column that is published as far as the quasi-identifier that it follows from."""
    leader = None if found.leader is None or role != "keep" else profile.column(found.leader)
    if leader is None or leader.role != "quasi_identifier":
        return {}
    return {"with": travels_with(found, _keys(leader, leader.role, profile)[0]["hierarchy"])}


def _dropped_last(columns: Sequence[DraftedColumn]) -> list[DraftedColumn]:
    order = ("quasi_identifier", "sensitive", "keep", "drop")
    return sorted(columns, key=lambda item: order.index(item.keys["role"]))


def _about_policy(
    columns: Sequence[DraftedColumn], profile: Profile, k: int, chosen: Proposal | None, entity: ColumnProfile | None
) -> list[Decision]:
    """Return the questions about keys of the policy, and about the column whose loss would help most."""
    sentence = "Check every role: what an attacker may know of a person must be a quasi_identifier."
    decisions = [Decision(None, "columns", sentence, rank=ROLES)]
    sentence = f"Is k = {k} enough? 5 is usual within an organization, 10 to 20 for the public."
    decisions.append(Decision(None, "privacy", sentence, rank=MANY))
    if not any("sensitive" in (column.keys["role"], (column.instead or {}).get("role")) for column in columns):
        sentence = (
            "No column looks sensitive. If one is, say role: sensitive with a model: k-anonymity does not hide it."
        )
        decisions.append(Decision(None, "columns", sentence, rank=PROTECTION))
    if entity is not None:
        sentence = (
            f"A value of it has {entity.filled / entity.distinct:.1f} records on average, so that persons are counted "
            "instead of records (entity). Does it name persons? Otherwise leave that line out."
        )
        decisions.append(Decision(entity.name, "entity", sentence, columns=(entity.name,), rank=PERSONS))
    if entity is None and (together := [item for item in profile.columns if belong_together(item)]):
        group = max(together, key=lambda item: item.distinct).name
        sentence = (
            "Its records belong together, it seems. In a class those of one household, say, hide one another: to count "
            f"households instead of records, write entity: {scalar(group)}."
        )
        decisions.append(Decision(group, "columns", sentence, columns=(group,), rank=PERSONS))
    if entity is None and (nameless := entity_of(profile, nulls=True)) is not None:
        sentence = (
            f"{few_or(nameless.nulls)} records do not say whose they are: records are counted instead of persons. "
            f"Leave them out in a view, and write entity: {scalar(nameless.name)}."
        )
        decisions.append(Decision(nameless.name, "columns", sentence, columns=(nameless.name,), rank=PERSONS))
    if chosen is not None and chosen.drop is not None:
        name = chosen.drop.column
        sentence = f"Is it needed? {chosen.drop.sentence}"
        decisions.append(
            Decision(name, "columns", sentence, f"{scalar(name)}: {{role: drop}}", (name,), rank=PROTECTION)
        )
    return decisions


def _of_persons(entity: ColumnProfile) -> float:
    """Return the share of the persons who lose a record where ``LIMIT`` of the records are drawn to be left out."""
    kept: float = (1 - LIMIT) ** (entity.filled / entity.distinct)
    return min(round(1 - kept, 2), MOST_PERSONS)


def _settings(
    columns: Sequence[DraftedColumn], k: int, output: str, chosen: Proposal | None, entity: ColumnProfile | None
) -> list[str]:
    """Return the lines of the policy below its columns, but for questions."""
    lines = [
        f"privacy: [{{type: k_anonymity, k: {k}}}]",
        f"suppression_limit: {chosen.limit}   # the share of records that may be left out: by {LIMIT} rare values go"
        if chosen is not None and chosen.limit is not None
        else f"suppression_limit: {LIMIT}   # the share of records that may be left out: a few do not coarsen all"
        if entity is None
        else f"suppression_limit: {_of_persons(entity)}   # the share of persons of whom a record may be left out",
        "uncovered: top   # a value that a hierarchy cannot read (a text among numbers) is published as *",
    ]
    if entity is not None:
        lines.append(f"entity: {scalar(entity.name)}")
    nodes = math.prod(item.nodes for item in columns)
    if chosen is not None and chosen.rules == "several":
        lines.append("transformation: {type: local_recoding}   # several rules lose less than one for all records")
    if nodes > LARGE:
        lines.append(
            f"search: {{time_limit: 60, gap: 0.02}}   # {nodes:,} combinations of levels: near the optimum is enough"
        )
    return [*lines, f"output: {{file: {scalar(output)}}}"]
