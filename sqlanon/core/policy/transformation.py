"""The transformations that are not one node for all records: patterns, and local recoding.

A policy without ``transformation`` asks for one node for all records (full domain).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import HERE, PolicyPart, check, entry, keys_of, of_keys, written
from sqlanon.core.policy.pattern_order import TIES, Ties
from sqlanon.parameters import (
    NAMES,
    Parameter,
    choice,
    flag,
    names,
    names_of,
    or_nothing,
    shaped,
    suggest,
    whole,
    words_of,
)

TYPE = Parameter(
    "type",
    choice(
        full_domain="one node for all records",
        patterns="each record keeps or suppresses columns by one of the patterns that are allowed, without hierarchies",
        local_recoding="each record is published by the first of several nodes whose class is large enough",
    ),
    about="What is done to the records.",
    example="transformation: {type: local_recoding, nodes: 16}",
)
TYPES = words_of([TYPE], "type")
Names = tuple[str, ...]
_PATTERNS = "transformation: {type: patterns, "
_NO_COLUMNS = ("This does not list columns.", "write [[age, sex], [race]]; for never, [age, sex].")
_NEVER = names("list of quasi-identifiers", *_NO_COLUMNS)
_GROUPS = replace(_NEVER, schema={"type": "array", "items": NAMES}, label="list of lists of quasi-identifiers")
_NODE_LIST = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}}
MOST_NODES = 16
"""How many nodes local recoding chooses at most, unless the policy sets another number."""
HOLD = 0.1
"""The share of the records that local recoding holds back, unless the policy sets another."""
LEAST_HOLD = 0.05
"""The least share that may be held back, but for none: with fewer, nearly all that an attacker claims is right."""
MOST_HOLD = 0.9
"""The largest share that may be held back: what is not held back begins at the first node."""
_NODES = shaped(
    {"anyOf": [{"type": "integer", "minimum": 1}, {**_NODE_LIST, "minItems": 1}]},
    "whole number of at least 1, or a list of nodes as {column: level}",
)
_HOLD = shaped(
    {"anyOf": [{"const": 0}, {"type": "number", "minimum": LEAST_HOLD, "maximum": MOST_HOLD}]},
    f"0, or a number from {LEAST_HOLD} to {MOST_HOLD}",
)
CELL_MEASURES = ("loss", "precision")
CELL_AGGREGATES = ("arithmetic_mean", "sum")
"""Measures that add up over cells, record by record: what local recoding is chosen by."""


@dataclass(frozen=True, slots=True)
class Patterns(PolicyPart):
    """A transformation in which each record keeps or suppresses columns by a pattern, without hierarchies."""

    solver: str = entry(
        or_nothing(choice(greedy="Algorithm 1 of the paper", exact="an integer program, for the proven optimum")),
        "greedy",
        about="How the pattern of each record is found.",
        example=_PATTERNS + "solver: exact}",
    )
    patterns: tuple[Names, ...] | None = entry(
        _GROUPS,
        about="The patterns that are allowed, each as the columns that it suppresses.",
        example=_PATTERNS + "patterns: [[], [age], [age, zip]]}",
        without="all that obey never, together, exclusive and at_most",
    )
    never: Names = entry(
        _NEVER,
        (),
        about="Columns that are not suppressed.",
        example=_PATTERNS + "never: [age]}",
        without="none",
    )
    together: tuple[Names, ...] = entry(
        _GROUPS,
        (),
        about="Groups of columns that are suppressed together or not at all.",
        example=_PATTERNS + "together: [[age, zip]]}",
        without="none",
    )
    exclusive: tuple[Names, ...] = entry(
        _GROUPS,
        (),
        about="Groups of columns of which at most one is suppressed.",
        example=_PATTERNS + "exclusive: [[age, zip]]}",
        without="none",
    )
    at_most: int | None = entry(
        whole(0),
        about="How many columns a pattern suppresses at most.",
        unit="columns",
        example=_PATTERNS + "at_most: 2}",
        without="all of them",
    )
    outliers: bool = entry(
        or_nothing(flag()),
        False,
        about="Add the pattern that suppresses every column, whatever the rules say.",
        example=_PATTERNS + "at_most: 2, outliers: true}",
    )
    ties: Ties = entry(
        or_nothing(choice(*TIES)),
        "descending",
        about="The order of patterns that suppress as much; listed is that of patterns.",
        example=_PATTERNS + "ties: colexicographic}",
    )
    seed: int | None = entry(
        whole(0),
        about="The seed of random ties. It is a secret of the operator.",
        example=_PATTERNS + "ties: random, seed: 7}",
        without="another one every time",
        kept=HERE,
    )


@dataclass(frozen=True, slots=True)
class LocalRecoding(PolicyPart):
    """A transformation that publishes each record by the first node of an ordered set whose class is large enough."""

    nodes: int | tuple[Mapping[str, int], ...] = entry(
        replace(_NODES, kind="listed", or_nothing=True),
        MOST_NODES,
        about="How many nodes are chosen at most; or the nodes themselves, in order.",
        example="transformation: {type: local_recoding, nodes: 8}",
    )
    hold: float = entry(
        or_nothing(_HOLD),
        HOLD,
        about="Which share of the records chance lets begin at a later node than the first, so that the node of a "
        "record excludes nothing. 0 holds none back, and protects from no conclusion.",
        unit="a share of the records",
        example="transformation: {type: local_recoding, hold: 0}",
    )
    seed: int | None = entry(
        whole(0),
        about="The seed of what is left to chance. It is a secret of the operator.",
        example="transformation: {type: local_recoding, seed: 7}",
        without="another one every time",
        kept=HERE,
    )


Transformation = Patterns | LocalRecoding


KINDS: Mapping[str, type[PolicyPart] | None] = {
    "full_domain": None,
    "patterns": Patterns,
    "local_recoding": LocalRecoding,
}
KEYS = {kind: () if part is None else keys_of(part) for kind, part in KINDS.items()}


def parse_transformation(faults: Faults, value: Any) -> Transformation | None:
    """Return the transformation of a policy's document; None is one node for all records."""
    if value is None:
        return None
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in TYPES:
        hint = suggest(kind, TYPES, "choose one of {}; write transformation: {{type: patterns}}, say.")
        faults.add("transformation.type", "This transformation is not known.", hint)
        return None
    part, given = KINDS[kind], faults.mapping("transformation", value, (TYPE.name, *names_of(KEYS[kind])))
    given.pop(TYPE.name)
    return None if part is None else of_keys(faults, "transformation", given, part)  # type: ignore[return-value]


def check_transformation(faults: Faults, transformation: object, quasi_identifiers: Sequence[str]) -> None:
    """Note the faults of a transformation."""
    if transformation is not None and not quasi_identifiers:
        faults.add("transformation", "There is no quasi-identifier to transform.", "declare one, or remove this key.")
    if isinstance(transformation, Patterns | LocalRecoding):
        check(faults, "transformation", transformation, beside=("patterns", "never", "together", "exclusive"))
    if isinstance(transformation, Patterns):
        _check_patterns(faults, transformation, quasi_identifiers)
    elif isinstance(transformation, LocalRecoding):
        _check_nodes(faults, transformation.nodes, quasi_identifiers)
        hold = transformation.hold
        if faults.number("transformation.hold", hold, 0, MOST_HOLD) and 0 < hold < LEAST_HOLD:
            message = "So small a share protects hardly anybody: nearly all that an attacker concludes is right."
            faults.add("transformation.hold", message, f"give at least {LEAST_HOLD:g}; or 0, which promises nothing.")
        if isinstance(transformation.nodes, tuple) and transformation.seed is not None and hold == 0:
            message = "Nodes that are given are not drawn, and no record is held back."
            faults.add("transformation.seed", message, "remove the seed.")
    elif transformation is not None:
        faults.add("transformation", "This is no transformation.", f"choose one of {', '.join(TYPES)}.")


def _check_patterns(faults: Faults, asked: Patterns, columns: Sequence[str]) -> None:
    rules = {"never": (asked.never,), "together": asked.together, "exclusive": asked.exclusive}
    for name, groups in {**rules, "patterns": asked.patterns or ()}.items():
        _check_groups(faults, f"transformation.{name}", groups, columns)
    if asked.patterns is not None:
        beside = [name for name, groups in rules.items() if any(groups)]
        for name in [*beside, *(["at_most"] if asked.at_most is not None else [])]:
            faults.add(f"transformation.{name}", "The patterns are listed already.", f"remove {name}, or patterns.")
        if not asked.patterns:
            faults.add("transformation.patterns", "The list is empty.", "write [[]] for the pattern that keeps all.")
    elif asked.ties == "listed":
        faults.add("transformation.ties", "There is no list whose order could be kept.", "list patterns.")
    if asked.seed is not None and asked.ties != "random":
        faults.add("transformation.seed", "A seed belongs to random ties.", "write ties: random, or remove the seed.")


def _check_nodes(faults: Faults, nodes: object, columns: Sequence[str]) -> None:
    if not isinstance(nodes, tuple):
        faults.integer("transformation.nodes", nodes, 1)
        return
    if not nodes:
        faults.add("transformation.nodes", "The list is empty.", "name a node, or say how many are chosen.")
    for position, node in enumerate(nodes):
        key = f"transformation.nodes[{position}]"
        if not isinstance(node, Mapping):
            faults.add(key, "This is not a node.", "write {column: level} pairs.")
            continue
        for name, level in node.items():
            if name not in columns:
                _unknown(faults, f"{key}.{name}", columns)
            else:
                faults.integer(f"{key}.{name}", level, 0)


def _check_groups(faults: Faults, key: str, groups: Any, columns: Sequence[str]) -> None:
    """Note a fault of everything that is no list of groups of quasi-identifiers."""
    named = isinstance(groups, tuple) and all(isinstance(group, tuple) for group in groups)
    if not named or not all(isinstance(name, str) for group in groups for name in group):
        faults.add(key, "This does not list columns.", "write [[age, sex], [race]]; for never, [age, sex].")
        return
    for position, group in enumerate(groups):
        place = key if key.endswith(".never") else f"{key}[{position}]"
        for name in group:
            if name not in columns:
                _unknown(faults, place, columns)
        if len(set(group)) < len(group):
            faults.add(place, "A column is listed twice.", "name each once.")


def _unknown(faults: Faults, key: str, columns: Sequence[str]) -> None:
    faults.add(key, "This is no quasi-identifier.", f"the quasi-identifiers are {', '.join(map(repr, columns))}.")


def written_transformation(transformation: Transformation, *, portable: bool = False) -> dict[str, Any]:
    """Return the keys of a policy file; ``portable`` leaves out the seed and the order of listed patterns and nodes.

    They are secrets of the operator: an attacker who knows the rest of a policy could find them from a hash of them.
    """
    keys = written(transformation, portable=portable)
    for name in ("patterns", "nodes") if portable else ():
        if isinstance(keys.get(name), list):
            keys[name] = sorted(keys[name], key=repr)
    return {"type": "patterns" if isinstance(transformation, Patterns) else "local_recoding", **keys}
