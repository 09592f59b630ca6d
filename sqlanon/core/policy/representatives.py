"""``publish``: numbers and dates that software can use, beside what a quasi-identifier is published as, or instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar

from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.faults import Faults
from sqlanon.core.policy.parts import PolicyPart, entry, keys_of
from sqlanon.parameters import names_of, shaped

BOUNDS = ("low", "high", "midpoint")
"""Values that follow from what is published and from the hierarchy, and from nothing else."""
CLASS_MEAN = "class_mean"
"""The mean of the records of a class: the one value that reveals something of them."""
VALUES = (*BOUNDS, CLASS_MEAN)
_AS = shaped(
    {
        "anyOf": [
            {"enum": list(VALUES)},
            {"type": "array", "items": {"enum": list(VALUES)}, "minItems": 1, "uniqueItems": True},
        ]
    },
    f"one of {', '.join(VALUES)}, or a list of them",
)
LEAST_CLASS = 5
"""The least k with which the means of classes are published."""
KNOWN = (
    specs.Intervals,
    specs.Dates,
    specs.Suppress,
    specs.FileHierarchy,
    specs.TableHierarchy,
    specs.Levels,
    specs.Groups,
)
"""Hierarchies that say which numbers or dates a generalized value stands for."""


@dataclass(frozen=True, slots=True)
class Publish(PolicyPart):
    """Publish numbers or dates for a quasi-identifier: ``Publish("age", ["low", "high"])``.

    Attributes:
        name: the quasi-identifier.
        values: a list of ``low``, ``high``, ``midpoint`` and ``class_mean``: each is a column of its own,
            ``<name>_<value>``, beside the generalized text. A single word: the column itself holds that value, and no
            text is published.
    """

    built = 'sqlanon.Publish("age", ["low", "high"])'

    called: ClassVar[Mapping[str, str]] = {"values": "as"}

    name: str
    values: str | tuple[str, ...] = entry(
        replace(_AS, kind="listed"),
        MISSING,
        about="Which numbers or dates are published: each of a list is a column of its own, age_low beside age; a "
        "single word takes the place of the text.",
        example="publish: {age: {as: [low, high, midpoint]}}",
    )

    @property
    def instead(self) -> str | None:
        """The value that the column itself holds; None where columns stand beside it."""
        return self.values if isinstance(self.values, str) else None

    @property
    def columns(self) -> dict[str, str]:
        """The columns that hold the values: name -> value."""
        if isinstance(self.values, str):
            return {self.name: self.values}
        return {f"{self.name}_{value}": value for value in self.values}

    @property
    def companions(self) -> tuple[str, ...]:
        """The columns that stand beside that of the text."""
        return () if self.instead else tuple(self.columns)


def parse_publish(faults: Faults, value: Any) -> tuple[Any, ...]:
    """Return the columns that a document asks to publish; None is none."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        faults.add("publish", "This is not a mapping.", "write {age: {as: [low, high]}}.")
        return ()
    found: list[Publish] = []
    for name, item in value.items():
        key = f"publish.{name}"
        if not isinstance(name, str):
            faults.add(key, "A column's name is not a text.", "put it in quotes.")
            continue
        given = faults.mapping(key, item, names_of(keys_of(Publish)))
        if "as" in given:
            found.append(Publish(name, given["as"]))
        elif item is None or isinstance(item, Mapping):
            faults.add(f"{key}.as", "The values are missing.", "write as: [low, high], say.")
    return tuple(found)


def written_publish(publish: Sequence[Publish]) -> dict[str, Any]:
    """Return the keys of a policy file."""
    return {p.name: {"as": p.values if isinstance(p.values, str) else list(p.values)} for p in publish}


def check_publish(faults: Faults, policy: Any) -> None:
    """Note the faults of what a policy (``PolicyFacts``) asks to publish."""
    taken = {column.name.casefold() for column in policy.columns if column.role != "drop"}
    columns = {column.name: column for column in policy.columns}
    seen: set[str] = set()
    for asked in policy.publish:
        if not isinstance(asked.name, str) or not _are_values(asked.values):
            hint = f"write as: [low, high], or one of {', '.join(VALUES)}."
            faults.add(f"publish.{asked.name}.as", "These are not values that can be published.", hint)
            continue
        if asked.name in seen:
            faults.add(f"publish.{asked.name}", "This column is listed twice.", "name all its values at once.")
            continue
        seen.add(asked.name)
        _check_column(faults, policy, asked, columns.get(asked.name))
        for name in asked.companions:
            if name.casefold() in taken:
                message = f"A column {name!r} is published already, in whatever case."
                hint = "give the other column the role drop, or rename one in a view of the source."
                faults.add(f"publish.{asked.name}.as", message, hint)
            taken.add(name.casefold())
    if policy.publish and policy.suppressed == "redact":
        message = "Redacted rows hold one text in every column, beside which no column can hold numbers or dates."
        faults.add("suppressed", message, "say suppressed: drop, or remove publish.")
    if any(CLASS_MEAN in _listed(asked) for asked in policy.publish):
        _check_means(faults, policy)


def _check_column(faults: Faults, policy: Any, asked: Publish, column: Any) -> None:
    key = f"publish.{asked.name}"
    if column is None or column.role != "quasi_identifier":
        hint = "name a quasi-identifier; columns with other roles are published as they are, or dropped."
        faults.add(key, "This is no quasi-identifier.", hint)
        return
    transformed = getattr(policy.transformation, "solver", None) is not None  # patterns have no hierarchies
    if column.hierarchy is not None and not transformed and not isinstance(column.hierarchy, KNOWN):
        message = "This hierarchy does not say which numbers or dates its texts stand for."
        hint = "use intervals, dates, or a hierarchy that lists the values (file, table, levels, groups)."
        faults.add(key, message, hint)
    if asked.instead and (policy.subset is not None or policy.population is not None):
        message = "The classes of a population are compared by the texts, which would not be published."
        faults.add(f"{key}.as", message, f"write as: [{asked.instead}], which leaves the text where it is.")


def _check_means(faults: Faults, policy: Any) -> None:
    """Note what the means of classes are not defined for, or would say too much of."""
    sizes = [model.parameters.get("k") for model in policy.privacy if model.type == "k_anonymity"]
    if max((size for size in sizes if isinstance(size, int)), default=0) < LEAST_CLASS:
        message = f"The mean of fewer than {LEAST_CLASS} records says too much of each of them."
        faults.add("publish", message, f"ask for k_anonymity with k of {LEAST_CLASS} at least, or for midpoint.")
    if any(model.type == "bounded_knowledge" for model in policy.privacy):
        message = "A class mean distinguishes records that agree in what bounded_knowledge lets an attacker know."
        faults.add("publish", message, "ask for midpoint, which follows from the hierarchy, or for k_anonymity alone.")
    for given, message in (
        (policy.entity, "A class mean is one of records, and this policy counts entities with several of them."),
        (policy.transformation, "A class mean is that of one node, and a transformation publishes by several rules."),
    ):
        if given is not None:
            faults.add("publish", message, "ask for midpoint, which follows from the hierarchy.")
    for asked in policy.publish:
        if asked.instead == CLASS_MEAN:
            message = "Classes are distinguished by the text, which would not be published."
            faults.add(f"publish.{asked.name}.as", message, f"write as: [{CLASS_MEAN}], which leaves the text.")


def _listed(asked: Publish) -> tuple[Any, ...]:
    return (asked.values,) if isinstance(asked.values, str) else asked.values if _are_values(asked.values) else ()


def _are_values(values: object) -> bool:
    if isinstance(values, str):
        return values in VALUES
    if not isinstance(values, tuple) or not values or not all(isinstance(value, str) for value in values):
        return False
    return len(set(values)) == len(values) and set(values) <= set(VALUES)
