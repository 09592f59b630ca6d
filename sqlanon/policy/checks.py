"""What a sound policy is, however it was made: from a file, a dict or dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from sqlanon.errors import InputError, SqlanonError
from sqlanon.measures.base import AGGREGATES
from sqlanon.policy import ROLES, WHERE, Column, Model, Policy, Quality, SearchOptions
from sqlanon.policy.extensions import Extensions
from sqlanon.policy.faults import Faults
from sqlanon.policy.transformation import CELL_AGGREGATES, CELL_MEASURES, Patterns, Transformation, check_transformation

CHOICES = {
    "undeclared": ("error", "drop"),
    "uncovered": ("error", "top", "suppress"),
    "nulls": ("extended", "basic"),
    "suppressed": ("drop", "redact"),
    "if_exists": ("error", "replace"),
}

LARGEST = 1e9
"""Of weights and information losses: beyond, their products and sums would overflow."""


def check(policy: Policy) -> None:
    """The faults of a policy built from dataclasses."""
    faults = Faults()
    for key, known in CHOICES.items():
        faults.choice(key, getattr(policy, key), known)
    check_parts(
        faults,
        policy.columns,
        policy.privacy,
        policy.quality,
        policy.search,
        policy.transformation,
        policy.extensions,
    )
    check_entity(faults, policy.entity, policy.columns)
    if not isinstance(policy.suppression_limit, Decimal) or not 0 <= policy.suppression_limit <= 1:
        faults.add("suppression_limit", "This is not a share.", "give a Decimal between 0 and 1.")
    for number, join in enumerate(policy.join):
        check_key(faults, f"join[{number}].key", join.key)
        if join.source is None and join.table is None:
            faults.add(f"join[{number}]", "There is neither a source nor a table.", "add one of the two.")
    faults.finish()


def check_key(faults: Faults, key: str, pairs: Sequence[tuple[object, object]]) -> bool:
    """True when ``pairs`` name the columns of a key, each of them once."""
    if not pairs or not all(isinstance(name, str) and name for pair in pairs for name in pair):
        faults.add(key, "This does not name key columns.", "write key: column, a list, or {column: its name here}.")
        return False
    for side in zip(*pairs, strict=True):
        if len({str(name).casefold() for name in side}) < len(side):
            faults.add(key, "This names a key column twice.", "name each column once.")
            return False
    return True


def check_entity(faults: Faults, entity: object, columns: Sequence[Column]) -> None:
    """The column that tells whom a record is of is never published."""
    if entity is None or not faults.text("entity", entity):
        return
    for column in columns:
        if column.name == entity and column.role != "drop":
            told = f"The column {column.name!r} tells whom a record is of, and has the role {column.role}."
            faults.add(
                "entity", told, "give it the role drop, or no role at all; to publish it too, copy it in a view."
            )


def check_parts(
    faults: Faults,
    columns: Sequence[Column],
    privacy: Sequence[Model],
    quality: Quality,
    search: SearchOptions,
    transformation: Transformation | None,
    extensions: Extensions,
) -> None:
    """What parsed and hand-made policies share."""
    seen: dict[str, str] = {}
    if not columns:
        faults.add("columns", "There is no column.", "declare each column of the source with a role.")
    for column in columns:
        twin = seen.setdefault(column.name.casefold(), column.name)
        if twin != column.name or sum(c.name == column.name for c in columns) > 1:
            faults.add(f"columns.{column.name}", "Another column has this name, in whatever case.", "rename one.")
        _check_column(faults, column, extensions, patterns=isinstance(transformation, Patterns))
    if columns and all(c.role == "drop" for c in columns):
        faults.add("columns", "Every column is dropped.", "keep a column, or declare a quasi_identifier.")
    if not privacy and not any(c.models for c in columns):
        faults.add("privacy", "There is no privacy model.", "add {type: k_anonymity, k: 5}, say.")
    for number, model in enumerate(privacy):
        check_model(faults, f"privacy[{number}]", model, extensions)
    subsets = [m.parameters["subset"] for m in privacy if "subset" in m.parameters]
    if any(subset != subsets[0] for subset in subsets):
        faults.add("privacy", "The models name different subsets.", "name one subset.")
    faults.choice("quality.measure", quality.measure, extensions.names("measures"))
    _find(faults, "quality.measure", extensions.measure, quality.measure)
    if quality.aggregate is not None:
        faults.choice("quality.aggregate", quality.aggregate, AGGREGATES)
    faults.choice("search.strategy", search.strategy, ("auto", *extensions.names("strategies")))
    _find(faults, "search.strategy", extensions.strategy, search.strategy)
    faults.choice("search.where", search.where, WHERE)
    if search.time_limit is not None:
        faults.number("search.time_limit", search.time_limit, 0)
    if search.max_evaluations is not None:
        faults.integer("search.max_evaluations", search.max_evaluations, 1)
    faults.number("search.gap", search.gap, 0, 0.999999)
    check_transformation(faults, transformation, [c.name for c in columns if c.role == "quasi_identifier"])
    if transformation is not None:
        _check_fit(faults, transformation, columns, privacy, quality, search)


def _check_fit(
    faults: Faults,
    transformation: Transformation,
    columns: Sequence[Column],
    privacy: Sequence[Model],
    quality: Quality,
    search: SearchOptions,
) -> None:
    """What patterns and local recoding have no answer to."""
    patterns = transformation if isinstance(transformation, Patterns) else None
    kind = "Patterns" if patterns else "Local recoding"
    if any("subset" in model.parameters for model in privacy):
        told = f"{kind} cannot tell in which class a person of the population who is not published would be."
        faults.add("transformation", told, "leave out delta_presence, or the transformation.")
    measures, aggregates = (("loss",), ("arithmetic_mean",)) if patterns else (CELL_MEASURES, CELL_AGGREGATES)
    if quality.measure not in measures:
        told = f"{kind} cannot be measured by {quality.measure}."
        faults.add("quality.measure", told, f"choose {' or '.join(measures)}.")
    if quality.aggregate not in (None, *aggregates):
        told = f"{kind} cannot be measured by {quality.aggregate}."
        faults.add("quality.aggregate", told, f"choose {' or '.join(aggregates)}.")
    if patterns is None:
        return
    for key in ("min_level", "max_level"):
        for column in columns:
            if column.role == "quasi_identifier" and getattr(column, key) is not None:
                told = "Patterns keep or suppress a column; they know no levels."
                faults.add(f"columns.{column.name}.{key}", told, "remove it; see transformation.never.")
    if search.strategy != "auto" or search.max_evaluations is not None:
        key = "strategy" if search.strategy != "auto" else "max_evaluations"
        faults.add(f"search.{key}", "Patterns are not searched by a strategy.", "see transformation.solver.")
    others = [m.type for m in privacy if m.type != "k_anonymity"] + [m.type for c in columns for m in c.models]
    if patterns.solver == "exact" and others:
        told = f"The exact solver knows k_anonymity alone, not {others[0]}."
        faults.add("transformation.solver", told, "take the greedy solver.")


def _check_column(faults: Faults, column: Column, extensions: Extensions, *, patterns: bool) -> None:
    key = f"columns.{column.name}"
    if not column.name:
        faults.add("columns", "A column has no name.", "name it as in the source.")
    if column.role not in ROLES:
        faults.add(f"{key}.role", "This role is not known.", f"choose one of {', '.join(ROLES)}.")
    if column.role == "quasi_identifier" and column.hierarchy is None and not patterns:
        faults.add(
            f"{key}.hierarchy", "A quasi-identifier needs a hierarchy.", "add one, e.g. hierarchy: {suppress: {}}."
        )
    if column.role in ("sensitive", "keep", "drop"):
        for name in ("min_level", "max_level", "uncovered"):
            if getattr(column, name) is not None:
                faults.add(f"{key}.{name}", "This key belongs to quasi-identifiers.", "remove it.")
    if column.role == "quasi_identifier" and column.models:
        faults.add(
            f"{key}.models", "A quasi-identifier takes no models.", "write k_anonymity under privacy, or use sensitive."
        )
    if column.role in ("keep", "drop"):
        for name, given in (("hierarchy", column.hierarchy), ("models", column.models or None)):
            if given is not None:
                faults.add(
                    f"{key}.{name}",
                    f"A column with the role {column.role} takes none.",
                    "remove it, or change the role.",
                )
    if column.role == "sensitive" and not column.models:
        faults.add(f"{key}.models", "A sensitive column needs a model.", "add one, or use the role keep.")
    for number, model in enumerate(column.models):
        check_model(faults, f"{key}.models[{number}]", model, extensions, column=column.name)
        if model.parameters.get("distance") == "hierarchical" and column.hierarchy is None:
            faults.add(
                f"{key}.hierarchy", "A hierarchical distance needs a hierarchy.", "add one, or use distance: equal."
            )
    low, high = column.min_level, column.max_level
    fits = True
    for name, level in (("min_level", low), ("max_level", high)):
        fits = (level is None or faults.integer(f"{key}.{name}", level, 0)) and fits
    if fits and low is not None and high is not None and low > high:
        faults.add(f"{key}.min_level", f"min_level {low} is above max_level {high}.", "swap or remove one.")
    faults.number(f"{key}.weight", column.weight, 0, LARGEST)
    if column.information_loss is not None:
        _check_losses(faults, f"{key}.hierarchy.information_loss", column)
    if column.uncovered is not None:
        faults.choice(f"{key}.uncovered", column.uncovered, CHOICES["uncovered"])


def _check_losses(faults: Faults, key: str, column: Column) -> None:
    """A loss that fell with generalization would make every bound of a search wrong."""
    losses = column.information_loss
    if column.role != "quasi_identifier":
        faults.add(key, "This key belongs to quasi-identifiers.", "remove it.")
        return
    if not isinstance(losses, tuple) or not losses:
        faults.add(key, "This is not a list of numbers.", "give one number for each level, level 0 first.")
        return
    good = [faults.number(f"{key}[{level}]", loss, 0, LARGEST) for level, loss in enumerate(losses)]
    if all(good):
        falling = [level for level in range(1, len(losses)) if losses[level] < losses[level - 1]]
        if falling:
            faults.add(key, f"The loss falls from level {falling[0] - 1} to {falling[0]}.", "let it rise or stay.")


def check_model(
    faults: Faults,
    key: str,
    model: Model,
    extensions: Extensions,
    *,
    column: str | None = None,
    without: Sequence[str] = (),
) -> None:
    """The faults of one model; ``column`` is the one it stands under, ``without`` what it need not say."""
    known = extensions.names("models")
    faults.choice(f"{key}.type", model.type, known)
    if model.type not in known:
        return
    kind = _find(faults, f"{key}.type", extensions.model, model.type)
    if kind is None:
        return
    if getattr(kind, "watches", False) != (column is not None):
        place = "under privacy" if column is not None else "under models of the sensitive column it watches"
        faults.add(f"{key}.type", f"{model.type} does not belong here.", f"write it {place}.")
        return
    before = len(faults.items)
    parameters = getattr(kind, "parameters", ())
    given = faults.parameters(key, model.parameters, parameters, owner=model.type, without=without)
    for name, message, hint in getattr(kind, "faults", lambda _: ())(given):
        faults.add(f"{key}.{name}", message, hint)
    if len(faults.items) == before:
        _check_made(faults, key, model, extensions, column)


def _check_made(faults: Faults, key: str, model: Model, extensions: Extensions, column: str | None) -> None:
    """A fault unless the model can be made; what it says itself may quote a value."""
    try:
        extensions.privacy_model(model.type, model.parameters, column)
    except SqlanonError as error:
        faults.add(f"{key}.type", error.message, error.hint)
    except Exception as error:  # of a model from outside the package
        told = f"{model.type} cannot be made from these parameters ({type(error).__name__})."
        faults.add(key, told, "see the documentation of the model.")


def _find(faults: Faults, key: str, find: Callable[[str], Any], name: str) -> Any:
    """What an extension's name stands for; None after noting that it cannot be used, or when there is none."""
    try:
        return find(name)
    except (KeyError, TypeError):  # an unknown choice, which is noted already
        return None
    except InputError as error:
        faults.add(key, error.message, error.hint)
        return None
