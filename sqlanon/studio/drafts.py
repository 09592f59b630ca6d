"""The policy that a page edits, as a fact: each change returns another, and the text that is saved says why."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from sqlanon.assess.profiling.draft_text import PolicyHead, policy_text, scalar
from sqlanon.assess.profiling.drafting import PolicyDraft, drafted_keys, kept_level
from sqlanon.assess.profiling.facts import ColumnProfile, Profile
from sqlanon.assess.profiling.questions import Asked, DraftedColumn
from sqlanon.core.policy import Policy
from sqlanon.core.policy.facts import PolicyFacts
from sqlanon.core.policy.parts import keys_of
from sqlanon.core.policy.paths import is_connection_text
from sqlanon.errors import InputError
from sqlanon.studio.kinds import HIERARCHIES, example_of, listed, read_groups, typed

ORIGIN = ("source", "table", "csv")
"""Keys that say what is read; those of other formats are named as the formats are."""
ORDER = ("quasi_identifier", "sensitive", "pseudonym", "shift", "keep", "drop")
"""The roles of columns in a policy's file."""
SEED = secrets.randbelow(2**31)
"""Of what local recoding leaves to chance: a policy that is saved publishes what the page shows. It is a secret."""
HEAD = "Decided in `sqlanon studio`, from a draft of `sqlanon profile`."
FEW = 5
"""Values of fewer records are never shown, whatever k is."""
DECIDED = "Decided in the studio."
MOST_DIGITS = 18
"""Of a number that is typed: those of ``1e999999999`` would fill the memory."""
Keys = dict[str, Any]
Change = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EditedPolicy:
    """A policy with the reasons of its columns.

    Attributes:
        origin: the keys that say what is read; empty for a frame.
        columns: in the order of the table.
        settings: the other keys of the policy, but ``output``.
        asked: what a person must decide still.
    """

    profile: Profile
    folder: Path
    origin: Keys
    columns: Mapping[str, DraftedColumn]
    settings: Keys
    asked: Asked = field(default_factory=Asked)

    @property
    def document(self) -> Keys:
        """The policy as a document, without a target."""
        columns = {item.name: dict(item.keys) for item in self._ordered}
        return {"version": 1, **self.origin, "columns": columns, **self.settings}

    @property
    def _ordered(self) -> list[DraftedColumn]:
        """The columns as the file has them, by their roles: among releases of equal loss, the order decides."""
        return sorted(self.columns.values(), key=lambda item: ORDER.index(item.keys["role"]))

    def policy(self, output: Mapping[str, Any] | None = None) -> Policy:
        """Return the policy, with a target where one is given.

        Raises:
            PolicyError: it is none.
        """
        target = {} if output is None else {"output": dict(output)}
        return Policy.from_dict(self.document | target, base_directory=self.folder)

    def text(self, output: Mapping[str, Any] | None = None, *, anywhere: bool = False) -> str:
        """Return the text of the policy's file: its keys with their meaning, and the reason of each column.

        Args:
            anywhere: the file may stand in any folder: it names its source by an absolute path.
        """
        settings = {**self.settings, **({} if output is None else {"output": dict(output)})}
        undeclared = settings.pop("undeclared", "error")
        about = {key.name: key.about.split(". ")[0].rstrip(".") for key in keys_of(PolicyFacts)}
        lines = [f"{key}: {_written(value)}   # {about.get(key, '')}".rstrip(" #") for key, value in settings.items()]
        read = dict(self.origin)
        if anywhere and "source" in read and "${" not in read["source"] and not is_connection_text(read["source"]):
            read["source"] = str(self.policy().resolve(read["source"]))
        origin = [f"{key}: {_written(value)}" for key, value in read.items()]
        head = PolicyHead(HEAD, origin, undeclared)
        return policy_text(self.profile, self._ordered, self.asked, lines, self.folder, head=head)

    def with_role(self, role: str) -> list[DraftedColumn]:
        """Return the columns that have a role."""
        return [item for item in self.columns.values() if item.keys["role"] == role]

    def limited(self) -> list[str]:
        """Return the columns whose levels have a limit above."""
        return [name for name, item in self.columns.items() if "max_level" in item.keys]

    def found(self, name: str) -> ColumnProfile | None:
        """Return the profile of a column; None where there is none."""
        return next((item for item in self.profile.columns if item.name == name), None)

    def k(self) -> int | None:
        """Return the k of its k-anonymity; None without."""
        return next((model["k"] for model in self.models() if model["type"] == "k_anonymity"), None)

    @property
    def least(self) -> int:
        """The fewest records whose value the page may show."""
        return max(self.k() or 0, FEW)

    def models(self) -> list[Keys]:
        """Return the models of the whole release."""
        given = self.settings.get("privacy", [])
        return [dict(model) for model in listed(given)]


def _written(value: Any) -> str:
    return scalar(value) if isinstance(value, str) else typed(value)


def drafted(draft: PolicyDraft, folder: Path) -> EditedPolicy:
    """Return a draft as a policy that can be edited."""
    return of_document(yaml.safe_load(draft.yaml), draft.profile, folder, draft)


def of_document(document: Keys, profile: Profile, folder: Path, draft: PolicyDraft | None = None) -> EditedPolicy:
    """Return the policy of a file, with the reasons of a draft, or of the profile where the roles are its own."""
    known = {} if draft is None else {item.name: item for item in draft.columns}
    given = document["columns"]
    columns = {}
    for name in [item.name for item in profile.columns if item.name in given] or list(given):
        suggested = next((item for item in profile.columns if item.name == name), None)
        as_suggested = suggested is not None and suggested.policy_role == given[name]["role"]
        reason = suggested.reason if suggested is not None and as_suggested else "As the policy has it."
        columns[name] = known.get(name) or DraftedColumn(name, given[name], reason)
    columns |= {name: DraftedColumn(name, keys, "") for name, keys in given.items() if name not in columns}
    formats = tuple(profile.formats)
    origin = {key: value for key, value in document.items() if key in (*ORIGIN, *formats)}
    rest = {k: v for k, v in document.items() if k not in ("version", *ORIGIN, *formats, "columns", "output")}
    asked = Asked() if draft is None else Asked(list(draft.decisions), list(draft.notes))
    return EditedPolicy(profile, folder, origin, columns, rest, asked)


def changed(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with one change.

    Args:
        change: ``action``, one of ``ACTIONS``, with what that takes: the name of a column, a value as it was typed.

    Raises:
        InputError: there is no such action or column, or the value cannot be read.
        PolicyError: the policy would be none.
    """
    if "column" in change and change["column"] not in policy.columns:
        raise InputError("The policy has no such column.", hint="load the page anew.")
    try:
        result = ACTIONS[change["action"]](policy, {key: value for key, value in change.items() if key != "action"})
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError):  # what no page of this version sends
        raise InputError("The page asks for what this version does not know.", hint="load the page anew.") from None
    result.policy()
    return result


def _column(policy: EditedPolicy, name: str, keys: Keys, reason: str | None = None) -> EditedPolicy:
    """Return the policy with other keys of a column; its questions are answered by that."""
    item = policy.columns[name]
    before = item.reason.removeprefix(DECIDED).strip()
    said = f"{DECIDED} {before}".strip() if reason is None else reason
    item = replace(item, keys=keys, reason=said, remark="", questions=(), instead=None)
    rest = [each for each in policy.asked.decisions if name not in each.columns]
    asked = Asked(rest, [each for each in policy.asked.notes if name not in each.columns])
    return replace(policy, columns={**policy.columns, name: item}, asked=asked)


def _role(policy: EditedPolicy, change: Change) -> EditedPolicy:
    name, role = str(change["column"]), str(change["value"])
    if role not in ORDER:
        raise InputError("A column has no such role.", hint=f"choose one of {', '.join(ORDER)}.")
    found = policy.found(name)
    if found is None:
        keys: Keys = {"role": role}
        keys |= {"hierarchy": {"suppress": {}}} if role == "quasi_identifier" else {}
        keys |= {"models": [{"type": "distinct_l_diversity", "l": 2}]} if role == "sensitive" else {}
    else:
        keys = drafted_keys(found, role, policy.profile)
    keys |= kept_level(policy.columns[name].keys) if role in ("sensitive", "keep") else {}
    others = {other: item for other, item in policy.columns.items() if _leader(item) == name}
    policy = _column(policy, name, keys)
    if role != "quasi_identifier":  # what travels with it has nothing to travel with
        for other in others:
            policy = _column(policy, other, {"role": "drop"}, f"{name!r}, with which it would travel, is left out.")
    if policy.settings.get("entity") == name and role in ("quasi_identifier", "sensitive"):
        policy = _setting(policy, "entity", None)
    return policy


def _leader(item: DraftedColumn) -> str | None:
    given = item.keys.get("with")
    return given["column"] if isinstance(given, Mapping) else given


def _levels(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with other limits of a column's levels."""
    name = str(change["column"])
    keys = dict(policy.columns[name].keys)
    for key in ("min_level", "max_level"):
        if key in change:
            keys.pop(key, None)
            if change[key] not in ("", None):
                keys[key] = _number(change[key])
    return _column(policy, name, keys)


def _finer(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with a column at a level at most, without the limits of others if they are in its way."""
    if change.get("lifts"):
        policy = _lift(policy, change)
    least = policy.columns[str(change["column"])].keys.get("min_level", 0)
    finest = {"min_level": change["max_level"]} if least > _number(change["max_level"]) else {}
    return _levels(policy, {**change, **finest})


def _lift(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy without limits on how coarse a column may become, but for that of a column that is named."""
    for name in policy.limited():
        if name == change.get("column"):
            continue
        keys = {key: value for key, value in policy.columns[name].keys.items() if key != "max_level"}
        policy = _column(policy, name, keys)
    return policy


def _weight(policy: EditedPolicy, change: Change) -> EditedPolicy:
    name = str(change["column"])
    keys = {key: value for key, value in policy.columns[name].keys.items() if key != "weight"}
    weight = _number(change["value"])
    return _column(policy, name, keys if weight == 1 else {**keys, "weight": weight})


def _hierarchy(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with a hierarchy of another kind, as it would be drafted or, if it is none, with an example."""
    name, kind = str(change["column"]), str(change["value"])
    keys = {key: value for key, value in policy.columns[name].keys.items() if key not in ("min_level", "max_level")}
    found = policy.found(name)
    drafted = {} if found is None else drafted_keys(found, "quasi_identifier", policy.profile).get("hierarchy", {})
    given = {kind: drafted[kind]} if kind in drafted else {kind: example_of(kind, found)}
    if kind == "groups" and change.get("values"):
        given = {kind: {"all": list(change["values"])}}
    return _column(policy, name, {**keys, "hierarchy": given})


def _option(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with an option of a column's hierarchy; an empty text takes it away."""
    name, option, text = str(change["column"]), str(change["name"]), str(change["value"]).strip()
    keys = dict(policy.columns[name].keys)
    written = keys.get("hierarchy", {})
    [(kind, options)] = (written if isinstance(written, Mapping) else {"file": {"file": written}}).items()
    if option == "groups":
        options = read_groups(text)
    elif option == "":
        options = _value(text)
    else:
        kept = dict(options) if isinstance(options, Mapping) else {HIERARCHIES[kind][1][0].name: options}
        kept.pop(option, None)
        options = {**kept, **({option: _value(text)} if text else {})}
    keys = {key: value for key, value in keys.items() if key not in ("min_level", "max_level")}
    return _column(policy, name, {**keys, "hierarchy": {kind: options}})


def _setting(policy: EditedPolicy, key: str, value: Any) -> EditedPolicy:
    rest = {name: each for name, each in policy.settings.items() if name != key or value is not None}
    asked = Asked([each for each in policy.asked.decisions if each.key != key], policy.asked.notes)
    return replace(policy, settings=rest | ({} if value is None else {key: value}), asked=asked)


def _k(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with another k."""
    k = _number(change["value"])
    models = policy.models()
    if policy.k() is None:
        return _setting(policy, "privacy", [{"type": "k_anonymity", "k": k}, *models])
    return _setting(policy, "privacy", [m | ({"k": k} if m["type"] == "k_anonymity" else {}) for m in models])


def _limit(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with another share that may be suppressed, typed in percent."""
    try:
        share = Decimal(str(change["value"]).strip()) / 100
    except ArithmeticError:
        share = Decimal(-1)
    if not 0 <= share <= 1:
        raise InputError("This is no share.", hint="write a number from 0 to 100, the percent of all.")
    rest = {name: each for name, each in policy.settings.items() if name != "suppression_count"}
    return _setting(replace(policy, settings=rest), "suppression_limit", float(share))


def _entity(policy: EditedPolicy, change: Change) -> EditedPolicy:
    name = str(change["value"])
    if name and name not in policy.columns:
        raise InputError("The policy has no such column.", hint="load the page anew.")
    if name and policy.columns[name].keys["role"] in ("quasi_identifier", "sensitive"):
        policy = _column(policy, name, {"role": "drop"}, f"{DECIDED} It says whose a record is.")
    return _setting(policy, "entity", name or None)


def _method(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with one rule for all records, several, or patterns, which know no levels."""
    kind = str(change["value"])
    for item in policy.with_role("quasi_identifier") if kind == "patterns" else ():
        kept = {key: value for key, value in item.keys.items() if key not in ("min_level", "max_level")}
        policy = policy if kept == item.keys else _column(policy, item.name, kept)
    seed = {"seed": SEED} if kind == "local_recoding" else {}
    return _setting(policy, "transformation", {"type": kind, **seed} if kind else None)


def _uncovered(policy: EditedPolicy, change: Change) -> EditedPolicy:
    return _setting(policy, "uncovered", str(change["value"]))


def _search(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with another limit of time, in seconds; none where it is empty."""
    rest = {key: value for key, value in policy.settings.get("search", {}).items() if key != "time_limit"}
    text = str(change["value"]).strip()
    return _setting(policy, "search", {**rest, **({"time_limit": _number(text)} if text else {})} or None)


def _add_model(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with one model more, of the release or of a sensitive column, with an example's parameters."""
    added = example_of(str(change["value"]), None)
    if "column" not in change:
        return _setting(policy, "privacy", [*policy.models(), added])
    return _models_of(policy, str(change["column"]), lambda models: [*models, added])


def _drop_model(policy: EditedPolicy, change: Change) -> EditedPolicy:
    def others(models: list[Keys]) -> list[Keys]:
        del models[int(change["place"])]
        return models

    if "column" not in change:
        return _setting(policy, "privacy", others(policy.models()))
    return _models_of(policy, str(change["column"]), others)


def _parameter(policy: EditedPolicy, change: Change) -> EditedPolicy:
    """Return the policy with another parameter of a model; an empty text takes it away."""
    place, name, text = int(change["place"]), str(change["name"]), str(change["value"]).strip()

    def other(models: list[Keys]) -> list[Keys]:
        kept = {key: value for key, value in models[place].items() if key != name}
        kept |= {name: _value(text)} if text else {}
        return [*models[:place], kept, *models[place + 1 :]]

    if "column" not in change:
        return _setting(policy, "privacy", other(policy.models()))
    return _models_of(policy, str(change["column"]), other)


def _models_of(policy: EditedPolicy, name: str, other: Callable[[list[Keys]], list[Keys]]) -> EditedPolicy:
    keys = dict(policy.columns[name].keys)
    given = keys.get("models", [])
    return _column(policy, name, {**keys, "models": other(listed(given))})


def _number(value: Any) -> int | float:
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        raise InputError("This is no number.", hint="write digits, with a point before decimals.") from None
    if not number.is_finite() or number.adjusted() > MOST_DIGITS:
        raise InputError("This is no number.", hint="write digits, with a point before decimals.")
    return int(number) if number == number.to_integral_value() else float(number)


def _value(text: str) -> Any:
    """Return a typed value: a number, a list in brackets, a mapping, or a text."""
    if len(text) == 1:  # a sign that masks may mean something in YAML
        return int(text) if text.isdecimal() else text
    try:
        found = yaml.safe_load(text)
        json.dumps(found, default=str)
    except (yaml.YAMLError, RecursionError, ValueError):
        raise InputError("This cannot be read.", hint="write a number, a text, or a list such as [2, 5].") from None
    return str(found) if hasattr(found, "isoformat") else found


ACTIONS: dict[str, Callable[[EditedPolicy, Change], EditedPolicy]] = {
    "role": _role,
    "levels": _levels,
    "lift": _lift,
    "finer": _finer,
    "weight": _weight,
    "hierarchy": _hierarchy,
    "option": _option,
    "k": _k,
    "limit": _limit,
    "entity": _entity,
    "method": _method,
    "uncovered": _uncovered,
    "time_limit": _search,
    "add_model": _add_model,
    "drop_model": _drop_model,
    "parameter": _parameter,
}
"""What a page can change, by name."""
