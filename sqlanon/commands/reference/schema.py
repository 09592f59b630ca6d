"""The JSON Schema (2020-12) of a policy, made of the tables that the checks read.

It knows which keys there are, what each may be and what it means: enough for an editor to complete and check a policy.
What depends on several keys together, or on the source, is found by the checks alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlanon.commands.reference.about import HIERARCHIES, Owner, default_of, models_of, parameters_of, sentence_of
from sqlanon.core.hierarchies import specs
from sqlanon.core.policy.columns import LARGEST
from sqlanon.core.policy.extensions import NOTHING, Extensions, found
from sqlanon.core.policy.facts import TOP_KEYS, PolicyFacts
from sqlanon.core.policy.hierarchies import WITH_ONE_VALUE, WITH_OPTIONS
from sqlanon.core.policy.schema_line import SCHEMA_URL
from sqlanon.core.policy.transformation import KEYS as TRANSFORMATIONS
from sqlanon.core.policy.transformation import KINDS, TYPE
from sqlanon.counts.keys import KEYS as COUNTS_KEYS
from sqlanon.counts.keys import CountsFacts
from sqlanon.parameters import TEXT, Parameter, ValueCheck, words_of
from sqlanon.tables.keys import KEYS as TABLES_KEYS

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
LOSSES: Schema = {
    "description": "The loss of every level of the hierarchy, level 0 first, for weighted_information_loss.",
    "type": ["array", "null"],
    "items": {"type": "number", "minimum": 0, "maximum": LARGEST},
}


def policy_schema(extensions: Extensions = NOTHING) -> Schema:
    """Return the schema of policies of one table and of several, and of counts, with what the extensions bring."""
    return _SchemaWriter(extensions).document()


class _SchemaWriter:
    """Writes the schema; what several keys hold is written once, under ``$defs``."""

    def __init__(self, extensions: Extensions) -> None:
        self._extensions = extensions
        self._definitions: dict[str, Schema] = {}

    def document(self) -> Schema:
        """Return the whole schema."""
        policy = self._mapping(TOP_KEYS, (), formats=True, owner=PolicyFacts)
        policy["not"] = {"required": ["suppression_limit", "suppression_count"]}
        self._definitions["policy"] = policy
        self._definitions["policy_of_several_tables"] = self._mapping(TABLES_KEYS, (), owner=PolicyFacts)
        self._definitions["document_of_counts"] = self._mapping(COUNTS_KEYS, (), owner=CountsFacts)
        return {
            "$schema": DIALECT,
            "$id": SCHEMA_URL,
            "title": "A policy of sqlanon",
            "description": "What to publish of a table, or of several, and how safe it must be.",
            "type": "object",
            "if": {"required": ["tables"]},
            "then": {"$ref": "#/$defs/policy_of_several_tables"},
            "else": {
                "if": {"required": ["counts"]},
                "then": {"$ref": "#/$defs/document_of_counts"},
                "else": {"$ref": "#/$defs/policy"},
            },
            "$defs": dict(sorted(self._definitions.items())),
        }

    def _mapping(
        self, keys: Sequence[Parameter], path: tuple[str, ...], *, formats: bool = False, owner: Owner = None
    ) -> Schema:
        """Return the schema of a mapping with these keys; ``formats``: and with the options of further file formats."""
        return self._object(keys, owner, path, self._formats() if formats else {})

    def _object(
        self, keys: Sequence[Parameter], owner: Owner, path: tuple[str, ...] = (), others: Mapping[str, Schema] = {}
    ) -> Schema:
        properties = {parameter.name: self._key(parameter, owner, path) for parameter in keys}
        result: Schema = {"type": "object", "properties": properties | dict(others), "additionalProperties": False}
        if required := [parameter.name for parameter in keys if parameter.required]:
            result["required"] = required
        return result

    def _key(self, parameter: Parameter, owner: Owner, path: tuple[str, ...]) -> Schema:
        """Return the schema of the value of a key, with what it means."""
        schema = self._value(parameter, (*path, parameter.name))
        if description := described(parameter):
            schema = {"description": description, **schema}
        default = default_of(owner, parameter.name)
        return schema if default is None else {**schema, "default": default}

    def _value(self, parameter: Parameter, path: tuple[str, ...]) -> Schema:
        check = parameter.check
        if not isinstance(check, ValueCheck):
            return {}  # of an extension, which checks it by itself
        schema = self._parts(check, path) if check.kind in PARTS else dict(check.schema)
        return _or_null(schema) if check.or_nothing else schema

    def _parts(self, check: ValueCheck, path: tuple[str, ...]) -> Schema:
        """Return the schema of a value with keys of its own."""
        if check.kind in ("measures", "strategies"):
            automatic = ("auto",) if check.kind == "strategies" else ()
            return {"enum": [*automatic, *self._extensions.names(check.kind)]}
        if check.kind in ("models", "column_models"):
            return self._models(watching=check.kind == "column_models")
        if check.kind == "hierarchy":
            return self._hierarchy()
        if check.kind == "transformation":
            return self._transformation()
        inner = self._mapping(check.keys, path, formats=path == ("join",), owner=check.part)
        if check.kind == "by_name":
            return {"type": "object", "minProperties": 1, "additionalProperties": inner}
        if check.kind == "list":
            return {"type": "array", "items": inner}
        return {"anyOf": [dict(check.schema), inner]} if check.schema else inner

    def _formats(self) -> dict[str, Schema]:
        result = {}
        for name in self._extensions.names("formats"):
            extension = found(self._extensions.format, name)
            if extension is not None:
                about = f"How files of the format {name} are read."
                result[name] = {"description": about, **_or_null(self._object(tuple(extension.options), None))}
        return result

    def _models(self, *, watching: bool) -> Schema:
        """Return the schema of a privacy model, or a list of them."""
        name = "model_of_a_column" if watching else "model"
        if name not in self._definitions:
            kinds = []
            for label, kind in models_of(self._extensions, watching=watching):
                schema = self._object(parameters_of(kind), kind)
                schema["properties"] = {"type": {"const": label}} | schema["properties"]
                schema["required"] = ["type", *schema.get("required", ())]
                kinds.append(self._defined(f"model_{label}", {"description": sentence_of(kind), **schema}))
            known = [label for label, _ in models_of(self._extensions, watching=watching)]
            types = {"type": {"enum": known}}
            self._definitions[name] = {"type": "object", "properties": types, "required": ["type"], "oneOf": kinds}
        one = {"$ref": f"#/$defs/{name}"}
        return {"anyOf": [one, {"type": "array", "items": one}]}

    def _hierarchy(self) -> Schema:
        if "hierarchy" not in self._definitions:
            kinds = [self._kind(name, kind) for name, kind in HIERARCHIES.items()]
            for name in self._extensions.names("hierarchies"):
                builder = found(self._extensions.builder, name)
                schema = _or_null(self._object(parameters_of(builder), builder))
                kinds.append(self._defined(f"hierarchy_{name}", self._beside(name, schema, sentence_of(builder))))
            self._definitions["hierarchy"] = {"oneOf": [TEXT, *kinds]}
        return {"$ref": "#/$defs/hierarchy"}

    def _kind(self, name: str, kind: Any) -> Schema:
        """Return the schema of one kind of hierarchy that is built in."""
        others: dict[str, Schema] = {}
        if name in WITH_ONE_VALUE:
            schema = dict(kind.value.schema)
        elif name in WITH_OPTIONS:
            schema = self._object(kind.options, kind)
            needed = getattr(kind, "one_of", ())
            if needed:
                schema["anyOf"] = [{"required": [option]} for option in needed]
            listed = specs.LISTED_OPTION.get(name)
            if listed is not None:
                [short] = [self._value(option, ()) for option in kind.options if option.name == listed]
                schema = {"anyOf": [short, schema]}
            elif "required" not in schema and not needed:
                schema = _or_null(schema)
        else:
            whole = self._object(kind.options, kind)["properties"]
            schema, others = whole.pop(name), whole
        return self._defined(f"hierarchy_{name}", self._beside(name, schema, sentence_of(kind), others))

    @staticmethod
    def _beside(name: str, schema: Schema, about: str, others: Mapping[str, Schema] = {}) -> Schema:
        properties = {name: {"description": about, **schema}, **others, "information_loss": LOSSES}
        return {"type": "object", "properties": properties, "required": [name], "additionalProperties": False}

    def _transformation(self) -> Schema:
        kinds = []
        for name in words_of([TYPE], "type"):
            schema = self._mapping(TRANSFORMATIONS[name], ("transformation", name), owner=KINDS[name])
            schema["properties"] = {"type": {"const": name}} | schema["properties"]
            kinds.append(self._defined(f"transformation_{name}", {**schema, "required": ["type"]}))
        return {"oneOf": kinds}

    def _defined(self, name: str, schema: Schema) -> Schema:
        """Write a schema under ``$defs`` and return the reference to it."""
        self._definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}


PARTS = (
    "mapping", "by_name", "list", "models", "column_models", "hierarchy", "transformation", "measures", "strategies",
)  # fmt: skip
"""Kinds of values with keys, or with words, of their own."""


def described(parameter: Parameter) -> str:
    """Return the meaning of a key, on lines: its words, its unit, its default and an example with it."""
    lines = [parameter.about] if parameter.about else []
    check = parameter.check
    words = check.words if isinstance(check, ValueCheck) else {}
    lines += [f"{word}: {about}" for word, about in words.items() if about]
    for label, text in (("Unit", parameter.unit), ("Without it", parameter.default), ("Example", parameter.example)):
        if text:
            lines.append(f"{label}: {text}")
    return "\n".join(lines)


def _or_null(schema: Schema) -> Schema:
    """Return a schema that null passes, too."""
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    if "anyOf" in schema or "oneOf" in schema:
        key = "anyOf" if "anyOf" in schema else "oneOf"
        return {**schema, key: [*schema[key], {"type": "null"}]}
    return {"anyOf": [schema, {"type": "null"}]}
