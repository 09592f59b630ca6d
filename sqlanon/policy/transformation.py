"""What is done to the records, when it is not one node for all of them: patterns, or local recoding.

A policy without ``transformation`` asks for one node for all records (full domain).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.policy.faults import Faults
from sqlanon.policy.pattern_order import TIES, Ties
from sqlanon.policy.plain import set_plain

TYPES = ("full_domain", "patterns", "local_recoding")
SOLVERS = ("greedy", "exact")
PATTERN_KEYS = ("solver", "patterns", "never", "together", "exclusive", "at_most", "outliers", "ties", "seed")
RECODING_KEYS = ("nodes", "seed")
KEYS: Mapping[str, tuple[str, ...]] = {
    "full_domain": (),
    "patterns": PATTERN_KEYS,
    "local_recoding": RECODING_KEYS,
}
MOST_NODES = 16
"""How many nodes local recoding chooses at most, unless the policy sets another number."""

CELL_MEASURES = ("loss", "precision")
CELL_AGGREGATES = ("arithmetic_mean", "sum")
"""Measures that add up over cells, record by record: what local recoding is chosen by."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Patterns:
    """A transformation in which each record keeps or suppresses columns by one of these patterns, without hierarchies.

    Attributes:
        solver: ``greedy`` (Algorithm 1) or ``exact`` (the integer program).
        patterns: the patterns, each as the columns that it suppresses; None: all that obey the rules.
        never: columns that are not suppressed.
        together: groups of columns that are suppressed together or not at all.
        exclusive: groups of columns of which at most one is suppressed.
        at_most: the largest number of suppressed columns.
        outliers: add the pattern that suppresses every column, whatever the rules say.
        ties: the order of patterns that suppress as much.
        seed: of random ties; None: another one every time.
    """

    solver: str = "greedy"
    patterns: tuple[Names, ...] | None = None
    never: Names = ()
    together: tuple[Names, ...] = ()
    exclusive: tuple[Names, ...] = ()
    at_most: int | None = None
    outliers: bool = False
    ties: Ties = "descending"
    seed: int | None = None

    def __post_init__(self) -> None:
        set_plain(self)
        for name in ("patterns", "never", "together", "exclusive"):
            object.__setattr__(self, name, _in_tuples(getattr(self, name)))


@dataclass(frozen=True, slots=True)
class LocalRecoding:
    """A transformation that publishes each record by the first node of an ordered set whose class passes the models.

    Attributes:
        nodes: how many are chosen at most; or the nodes themselves, in order, as column -> level (0 if not named).
        seed: of the choice among nodes that gain about as much; None: another one every time.
    """

    nodes: int | tuple[Mapping[str, int], ...] = MOST_NODES
    seed: int | None = None

    def __post_init__(self) -> None:
        set_plain(self)
        object.__setattr__(self, "nodes", _in_tuples(self.nodes))


def _in_tuples(value: Any) -> Any:
    """Return lists as tuples, at any depth."""
    return tuple(map(_in_tuples, value)) if isinstance(value, list | tuple) else value


Transformation = Patterns | LocalRecoding


def parse_transformation(faults: Faults, value: Any) -> Transformation | None:
    """Return the transformation of a policy's document; None is one node for all records."""
    if value is None:
        return None
    kind = value.get("type") if isinstance(value, Mapping) else None
    if kind not in TYPES:
        hint = f"choose one of {', '.join(TYPES)}; write transformation: {{type: patterns}}, say."
        faults.add("transformation.type", "This transformation is not known.", hint)
        return None
    given = faults.mapping("transformation", value, ("type", *KEYS[kind]))
    given = {name: item for name, item in given.items() if name != "type" and item is not None}
    if kind == "full_domain":
        return None
    return LocalRecoding(**given) if kind == "local_recoding" else Patterns(**given)


def check_transformation(faults: Faults, transformation: object, quasi_identifiers: Sequence[str]) -> None:
    """Note the faults of a transformation."""
    if transformation is not None and not quasi_identifiers:
        faults.add("transformation", "There is no quasi-identifier to transform.", "declare one, or remove this key.")
    if isinstance(transformation, Patterns):
        _check_patterns(faults, transformation, quasi_identifiers)
    elif isinstance(transformation, LocalRecoding):
        _check_nodes(faults, transformation.nodes, quasi_identifiers)
    elif transformation is not None:
        faults.add("transformation", "This is no transformation.", f"choose one of {', '.join(TYPES)}.")
        return
    seed = getattr(transformation, "seed", None)
    if seed is not None:
        faults.integer("transformation.seed", seed, 0)
        if isinstance(transformation, LocalRecoding) and isinstance(transformation.nodes, tuple):
            faults.add("transformation.seed", "Nodes that are given are not drawn.", "remove the seed.")


def _check_patterns(faults: Faults, asked: Patterns, columns: Sequence[str]) -> None:
    faults.choice("transformation.solver", asked.solver, SOLVERS)
    faults.choice("transformation.ties", asked.ties, TIES)
    if not isinstance(asked.outliers, bool):
        faults.add("transformation.outliers", "This is not a flag.", "write true or false.")
    if asked.at_most is not None:
        faults.integer("transformation.at_most", asked.at_most, 0)
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
    for number, node in enumerate(nodes):
        key = f"transformation.nodes[{number}]"
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
    for number, group in enumerate(groups):
        place = key if key.endswith(".never") else f"{key}[{number}]"
        for name in group:
            if name not in columns:
                _unknown(faults, place, columns)
        if len(set(group)) < len(group):
            faults.add(place, "A column stands twice.", "name each once.")


def _unknown(faults: Faults, key: str, columns: Sequence[str]) -> None:
    faults.add(key, "This is no quasi-identifier.", f"the quasi-identifiers are {', '.join(map(repr, columns))}.")


def written(transformation: Transformation, *, portable: bool = False) -> dict[str, Any]:
    """Return the keys of a policy file; ``portable`` leaves out the seed and the order of listed patterns and nodes.

    They are secrets of the operator: an attacker who knows the rest of a policy could find them from a hash of them.
    """
    kind = "patterns" if isinstance(transformation, Patterns) else "local_recoding"
    default = type(transformation)()
    values = {name: getattr(transformation, name) for name in KEYS[kind] if not (portable and name == "seed")}
    keys = {name: _plain(value) for name, value in values.items() if value != getattr(default, name)}
    for name in ("patterns", "nodes") if portable else ():
        if isinstance(keys.get(name), list):
            keys[name] = sorted(keys[name], key=repr)
    return {"type": kind, **keys}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
