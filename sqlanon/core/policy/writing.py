"""The policy as the keys of a policy file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.columns import written_travels
from sqlanon.core.policy.facts import Column, Join, Model, Output, PolicyFacts
from sqlanon.core.policy.parts import as_keys, written
from sqlanon.core.policy.paths import PLACES, names_records
from sqlanon.core.policy.representatives import written_publish
from sqlanon.core.policy.transformation import written_transformation
from sqlanon.core.policy.variables import KeyPath, escape, map_places
from sqlanon.core.policy.written_places import as_written


def document(policy: PolicyFacts, *, portable: bool = False) -> dict[str, Any]:
    """Return the keys of a policy file, with variables of the environment as they were written.

    ``portable`` leaves out folders and what does not change the result.
    """
    policy = as_written(policy, to_read_again=True)
    count, limit, changed = policy.suppression_count, policy.suppression_limit, policy.transformation
    special = {
        "join": [_join(join, portable) for join in policy.join] or None,
        "columns": {column.name: _column(column, portable) for column in policy.columns},
        "privacy": [_model(model, portable) for model in policy.privacy],
        "suppression_limit": str(limit.normalize()) if count is None else None,
        "transformation": None if changed is None else written_transformation(changed, portable=portable),
        "publish": written_publish(policy.publish) or None,
        "output": None if policy.output is None else _output(policy.output, portable),
    }
    keys = written(policy, portable=portable, instead=special)
    source = {name: keys.pop(name) for name in ("version", "source", "files", "table", "csv") if name in keys}
    result = {**source, **as_keys(policy.formats), **keys}
    return result if portable else map_places(result, lambda path, text: _as_text(policy, path, text))


def _as_text(policy: PolicyFacts, path: KeyPath, text: str) -> str:
    """Return the text that a place is written as: its own if that holds variables, or one that holds none."""
    return (
        text if any(place.path == path and text.endswith(place.written) for place in policy.variables) else escape(text)
    )


def question(policy: PolicyFacts) -> dict[str, Any]:
    """Return the part of a policy that the verdicts on nodes depend on, as far as the policy itself says it.

    Names of files, and how a hierarchy is written, say nothing of its content, and are left out.
    """
    attributes = {
        c.name: [c.role, c.min_level, c.max_level, c.weight, c.information_loss, policy.uncovered_of(c)]
        for c in policy.columns
        if c.role in ("quasi_identifier", "sensitive")
    }
    models = [*policy.privacy, *(model for c in policy.columns for model in c.models)]
    return {
        "attributes": attributes,
        "models": [{"type": m.type} | _asked_of_classes(m) for m in models],
        "limit": [policy.suppression_limit, policy.suppression_count],
        "quality": [policy.quality.measure, policy.quality.aggregate],
        "entity": policy.entity,
        "nulls": policy.nulls,
    }


def _asked_of_classes(model: Model) -> dict[str, Any]:
    """Return the parameters of a model; of the records that it compares with, not where they are."""
    found = {}
    for key, value in model.parameters.items():
        if not names_records(key, value):
            found[key] = value
        elif key == "population":
            found[key] = "table"
    return found


def canonical(value: Any) -> Any:
    """Return a document in one spelling.

    Whether a number was read as a float or a decimal, and in which order a model names its parameters, makes no
    difference.
    """
    if isinstance(value, Mapping):
        items = sorted(value.items()) if isinstance(value.get("type"), str) else value.items()
        return {key: canonical(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    return str(Decimal(str(value)).normalize())


def _without_none(options: Any) -> dict[str, Any]:
    pairs = ((f.name, getattr(options, f.name)) for f in fields(options))
    return {name: value for name, value in pairs if value is not None}


def _output(output: Output, portable: bool) -> dict[str, Any]:
    return {output.kind: Path(output.target).name if portable else output.target, **written(output, portable=portable)}


def _join(join: Join, portable: bool) -> dict[str, Any]:
    return {**written(join, portable=portable, instead={"key": dict(join.key)}), **as_keys(join.formats)}


def _model(model: Model, portable: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"type": model.type, **model.parameters}
    for key in PLACES:
        where = result.get(key)
        if portable and isinstance(where, Mapping) and "file" in where:
            result[key] = {**where, "file": Path(where["file"]).name}
    return result


def _column(column: Column, portable: bool) -> dict[str, Any]:
    hierarchy = None if column.hierarchy is None else written_hierarchy(column.hierarchy, portable)
    if hierarchy is not None and column.information_loss is not None:
        hierarchy["information_loss"] = list(column.information_loss)
    special = {
        "keep_weekday": column.keep_weekday if column.role == "shift" else None,
        "travels": None if column.travels is None else written_travels(column.travels),
        "models": [_model(model, portable) for model in column.models] or None,
        "hierarchy": hierarchy,
    }
    return written(column, portable=portable, instead=special)


def written_hierarchy(spec: specs.HierarchySpec, portable: bool) -> dict[str, Any]:
    """Return the keys of a hierarchy, as a column of a policy file has them."""
    if isinstance(spec, specs.FileHierarchy):
        options = {key: value for key, value in _without_none(spec).items() if key != "path"}
        return {"file": spec.path.name if portable else str(spec.path), **options}
    if isinstance(spec, specs.TableHierarchy):
        return {"table": spec.table}
    if isinstance(spec, specs.Levels):
        if portable:  # NULL and the text 'null' would be one key in JSON
            return {"levels": [list(row) for row in sorted(spec.rows, key=repr)]}
        return {"levels": {row[0]: list(row[1:]) for row in spec.rows}}
    if isinstance(spec, specs.Groups):
        return {"groups": _tree(spec.rows)}
    if isinstance(spec, specs.ExtensionHierarchy):
        return {spec.kind: dict(spec.options)}
    if isinstance(spec, specs.Zip3) and spec.populations is not None and portable:
        spec = specs.Zip3(spec.populations.name, spec.at_most)
    return {spec.kind: {key: _written(value) for key, value in _without_none(spec).items()}}


def _written(value: Any) -> Any:
    """Return an option of a hierarchy as a document holds it: exact numbers as texts, in lists too."""
    if isinstance(value, list | tuple):
        return [_written(item) for item in value]
    return value if isinstance(value, int | str) else str(value)


def _tree(rows: specs.Rows) -> Any:
    """Return the nested mapping that rows (value, group, …, root) came from."""
    if all(len(row) == 2 for row in rows):
        return [row[0] for row in rows]
    tree: dict[Any, list[tuple[str | None, ...]]] = {}
    for row in rows:
        tree.setdefault(row[-2], []).append(row[:-1])
    return {group: _tree(tuple(members)) for group, members in tree.items()}
